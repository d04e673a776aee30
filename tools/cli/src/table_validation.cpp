#include "table_validation.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "eplb/sim/random_stream.hpp"
#include "hardware_lookup.hpp"
#include "kernel_layers.hpp"

namespace eplb::cli {
namespace {

constexpr std::array<std::uint64_t, 3> kDrawnSeeds{1, 2, 3};

using HardwareByDevice = std::map<std::string, config::HardwareFile>;

Result<HardwareByDevice> hardware_of_table(const formats::KernelMeasurements& table,
                                           const config::LoadOptions& options) {
  std::set<std::string> devices;
  for (const formats::KernelRow& row : table.rows) {
    devices.insert(row.device);
  }
  return hardware_of_devices(devices, options);
}

/// Layers that stand for a row: one, or several draws; none if nothing tells its counts.
Result<std::vector<sim::MeasuredLayer>> layers_of(const formats::KernelRow& row,
                                                  const formats::KernelCounts& counts,
                                                  bool draw_counts) {
  auto layer = measured_layer(row, counts);
  if (!layer) {
    return tl::unexpected(std::move(layer).error());
  }
  if (!layer->busiest.empty()) {
    return std::vector<sim::MeasuredLayer>{*std::move(layer)};
  }
  return draw_counts ? drawn_layers(row, kDrawnSeeds) : std::vector<sim::MeasuredLayer>{};
}

double mean_prediction(const std::vector<sim::MeasuredLayer>& layers,
                       const sim::HardwareOptions& hardware) {
  double sum = 0;
  for (const sim::MeasuredLayer& layer : layers) {
    sum += sim::predicted_us(layer, hardware);
  }
  return sum / static_cast<double>(layers.size());
}

/// Rows whose counts are given, and so neither fitted to nor known by rule.
std::vector<formats::KernelRow> rows_with_counts(const formats::KernelMeasurements& table) {
  std::vector<formats::KernelRow> rows;
  for (const formats::KernelRow& row : table.rows) {
    if (row.distribution != kBalanced && table.counts.contains(formats::counts_key(row))) {
      rows.push_back(row);
    }
  }
  return rows;
}

double mean_absolute_error(const std::vector<sim::MeasuredLayer>& layers,
                           const HardwareByDevice& hardware,
                           const std::function<void(sim::HardwareOptions&)>& change) {
  std::vector<double> errors;
  errors.reserve(layers.size());
  for (const sim::MeasuredLayer& layer : layers) {
    if (const auto file = hardware.find(layer.device); file != hardware.end()) {
      sim::HardwareOptions changed = file->second.options;
      change(changed);
      errors.push_back(sim::predicted_us(layer, changed) / layer.measured_us - 1);
    }
  }
  return sim::summary_of(errors).mean_absolute;
}

}  // namespace

Result<TablePrediction> predict_table(const formats::KernelMeasurements& table,
                                      const config::LoadOptions& load_options,
                                      const TableOptions& options) {
  const auto hardware = hardware_of_table(table, load_options);
  if (!hardware) {
    return tl::unexpected(hardware.error());
  }
  TablePrediction prediction;
  prediction.rows.reserve(table.rows.size());
  for (const formats::KernelRow& row : table.rows) {
    const auto layers = layers_of(row, table.counts, options.draw_counts);
    if (!layers) {
      return tl::unexpected(layers.error());
    }
    const auto file = hardware->find(row.device);
    if (file == hardware->end()) {
      prediction.skipped.push_back({.row = row, .why = "no hardware file names its device"});
    } else if (layers->empty()) {
      prediction.skipped.push_back(
          {.row = row, .why = fmt::format("no counts under {}", formats::counts_key(row))});
    } else {
      prediction.rows.push_back(
          {.row = row, .predicted_us = mean_prediction(*layers, file->second.options)});
    }
  }
  return prediction;
}

sim::PredictionErrors errors_of(const std::vector<PredictedKernel>& rows,
                                const std::function<bool(const formats::KernelRow&)>& keep) {
  std::vector<double> errors;
  errors.reserve(rows.size());
  for (const PredictedKernel& one : rows) {
    if (keep(one.row)) {
      errors.push_back(one.error());
    }
  }
  return sim::summary_of(errors);
}

std::map<std::string, std::map<std::string, sim::PredictionErrors>> errors_by(
    const std::vector<PredictedKernel>& rows) {
  using Name = std::string (*)(const formats::KernelRow&);
  const std::array<std::pair<const char*, Name>, 4> axes{
      {{"device", [](const formats::KernelRow& row) { return row.device; }},
       {"ep", [](const formats::KernelRow& row) { return std::to_string(row.ranks); }},
       {"distribution", [](const formats::KernelRow& row) { return row.distribution; }},
       {"device/ep/distribution", [](const formats::KernelRow& row) {
          return fmt::format("{}/{}/{}", row.device, row.ranks, row.distribution);
        }}}};
  std::map<std::string, std::map<std::string, sim::PredictionErrors>> by;
  for (const auto& axis : axes) {
    std::set<std::string> values;
    for (const PredictedKernel& one : rows) {
      values.insert(axis.second(one.row));
    }
    for (const std::string& value : values) {
      by[axis.first][value] =
          errors_of(rows, [&](const formats::KernelRow& row) { return axis.second(row) == value; });
    }
  }
  return by;
}

std::vector<PredictedKernel> worst_rows(std::vector<PredictedKernel> rows, std::size_t count_max) {
  std::ranges::stable_sort(rows, std::greater<>(),
                           [](const PredictedKernel& one) { return std::abs(one.error()); });
  rows.resize(std::min(rows.size(), count_max));
  return rows;
}

Result<std::vector<NegativeControl>> negative_controls(const formats::KernelMeasurements& table,
                                                       const config::LoadOptions& load_options) {
  const auto hardware = hardware_of_table(table, load_options);
  if (!hardware) {
    return tl::unexpected(hardware.error());
  }
  std::vector<sim::MeasuredLayer> sound;
  std::vector<sim::MeasuredLayer> shuffled;
  std::vector<sim::MeasuredLayer> regrouped;
  sim::RandomStream random(1, "shuffled counts");
  for (const formats::KernelRow& row : rows_with_counts(table)) {
    auto layer = measured_layer(row, table.counts);
    if (!layer) {
      return tl::unexpected(std::move(layer).error());
    }
    const std::int64_t sent = row.tokens_per_rank * row.top_k;
    std::vector<std::int64_t> counts = table.counts.at(formats::counts_key(row));
    if (row.experts % (2 * row.ranks) == 0) {
      regrouped.push_back(*layer);
      regrouped.back().ranks = 2 * row.ranks;
      regrouped.back().busiest = sim::features_by_rank(counts, 2 * row.ranks, sent);
    }
    for (std::size_t left = counts.size(); left > 1; --left) {
      std::swap(counts[left - 1], counts[random.below(left)]);
    }
    shuffled.push_back(*layer);
    shuffled.back().busiest = sim::features_by_rank(counts, row.ranks, sent);
    sound.push_back(*std::move(layer));
  }
  const auto as_it_is = [](sim::HardwareOptions& /*hardware*/) {};
  const double mean_absolute = mean_absolute_error(sound, *hardware, as_it_is);
  const auto halve = [](sim::HardwareOptions& changed) {
    changed.hbm_bandwidth_gb_per_s /= 2;
    changed.nvlink_bandwidth_gb_per_s /= 2;
  };
  return std::vector<NegativeControl>{
      {.name = "counts dealt to other experts",
       .mean_absolute = mean_absolute,
       .broken = mean_absolute_error(shuffled, *hardware, as_it_is)},
      {.name = "half of both bandwidths",
       .mean_absolute = mean_absolute,
       .broken = mean_absolute_error(sound, *hardware, halve)},
      {.name = "twice as many ranks",
       .mean_absolute = mean_absolute,
       .broken = mean_absolute_error(regrouped, *hardware, as_it_is)}};
}

}  // namespace eplb::cli
