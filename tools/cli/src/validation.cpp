#include "validation.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "eplb/sim/balancer_kernels.hpp"
#include "eplb/sim/cluster/copy_study.hpp"
#include "eplb/sim/cluster/host_collectives.hpp"
#include "eplb/sim/machine.hpp"
#include "hardware_lookup.hpp"
#include "kernel_layers.hpp"
#include "run_metrics.hpp"
#include "scenario_runs.hpp"

namespace eplb::cli {
namespace {

constexpr std::string_view kKernelFitted = "expert kernel, balanced";
constexpr std::string_view kKernelHeldOut = "expert kernel, given counts";
constexpr std::string_view kKernelDrawn = "expert kernel, drawn counts";
constexpr std::int64_t kLayerBytes = 470'000'000;
constexpr std::int32_t kRecordTopK = 8;

class Validator {
 public:
  explicit Validator(const ValidationRequest& request)
      : request_(request), runs_(request.configs, request.load_options) {}

  Result<Validation> validate() {
    for (auto step : {&Validator::do_runs, &Validator::add_kernels, &Validator::add_runs,
                      &Validator::add_copies, &Validator::add_host_figures}) {
      if (auto done = (this->*step)(); !done) {
        return tl::unexpected(done.error());
      }
    }
    add_orders();
    out_.not_predicted = request_.published.not_predicted;
    judge();
    return std::move(out_);
  }

 private:
  Result<void> want(RunMetric metric, const ScenarioRun& run) {
    if (is_gain(metric)) {
      if (auto off = runs_.want(with_eplb(run, false)); !off) {
        return off;
      }
      return runs_.want(with_eplb(run, true));
    }
    return runs_.want(run);
  }

  Result<void> do_runs() {
    const ScenarioRun counting{
        .scenario = request_.published.counting_scenario, .overrides = {}, .with_eplb = true};
    if (!counting.scenario.empty()) {
      if (auto wanted = runs_.want(counting); !wanted) {
        return wanted;
      }
      out_.counting = counting_costs(runs_.of(counting).scenario);
    }
    for (const RunFigure& one : request_.published.runs) {
      if (auto wanted = want(one.metric, one.run); !wanted) {
        return wanted;
      }
    }
    for (const PublishedOrder& order : request_.published.orders) {
      for (const ScenarioRun& run : order.runs) {
        if (auto wanted = want(order.metric, run); !wanted) {
          return wanted;
        }
      }
    }
    return runs_.run_all([&](std::int64_t steps_done, std::int64_t step_total) {
      request_.progress(fmt::format("simulating: {} %", 100 * steps_done / step_total));
    });
  }

  [[nodiscard]] double value_of(RunMetric metric, const ScenarioRun& run) const {
    if (is_gain(metric)) {
      return measure(metric, runs_.of(with_eplb(run, true)), runs_.of(with_eplb(run, false)));
    }
    return measure(metric, runs_.of(run), runs_.of(run));
  }

  [[nodiscard]] ValidationRow row_of(const Figure& figure, std::string group, std::string quantity,
                                     std::string unit, double predicted) const {
    return {.group = std::move(group),
            .name = figure.name,
            .quantity = std::move(quantity),
            .unit = std::move(unit),
            .published = figure.value,
            .sd = figure.sd,
            .range = figure.range,
            .predicted = predicted,
            .fitted = figure.fitted,
            .note = figure.note};
  }

  Result<void> add_runs() {
    for (const RunFigure& one : request_.published.runs) {
      const std::string arm = is_gain(one.metric) ? ""
                              : one.run.with_eplb ? ", EPLB on"
                                                  : ", EPLB off";
      ValidationRow row = row_of(one.figure, group_of(one.metric), metric_name(one.metric),
                                 unit_of(one.metric), value_of(one.metric, one.run));
      row.name += arm;
      const auto& scenario = runs_.of(with_eplb(one.run, one.run.with_eplb)).scenario;
      const std::set<std::string> keys = keys_read(one.metric, scenario);
      for (const PublishedInput& input : request_.published.inputs) {
        if (keys.contains(input.key)) {
          row.uses.push_back(input.key);
          row.fitted = row.fitted || !input.only_sources || one.figure.source_of == input.key;
        }
      }
      out_.rows.push_back(std::move(row));
    }
    return {};
  }

  Result<void> add_kernels() {
    const auto table =
        predict_table(request_.measurements, request_.load_options, {.draw_counts = true});
    if (!table) {
      return tl::unexpected(table.error());
    }
    std::vector<PredictedKernel> with_counts;
    for (const PredictedKernel& one : table->rows) {
      const formats::KernelRow& kernel = one.row;
      const bool balanced = kernel.distribution == kBalanced;
      const bool given = request_.measurements.counts.contains(formats::counts_key(kernel));
      out_.rows.push_back({.group = std::string(balanced ? kKernelFitted
                                                : given  ? kKernelHeldOut
                                                         : kKernelDrawn),
                           .name = fmt::format("{} EP{} {} {}", kernel.device, kernel.ranks,
                                               kernel.distribution, kernel.tokens_per_rank),
                           .quantity = "expert_layer_us",
                           .unit = "us",
                           .published = kernel.latency_us,
                           .predicted = one.predicted_us,
                           .fitted = balanced});
      if (balanced || given) {
        with_counts.push_back(one);
      }
    }
    constexpr std::size_t kWorstShown = 10;
    out_.worst = worst_rows(with_counts, kWorstShown);
    out_.skipped = table->skipped;
    add_kernel_bars(with_counts);
    auto controls = negative_controls(request_.measurements, request_.load_options);
    if (!controls) {
      return tl::unexpected(controls.error());
    }
    out_.controls = *std::move(controls);
    return {};
  }

  void add_kernel_bars(const std::vector<PredictedKernel>& rows) {
    constexpr double kFittedMax = 0.06;
    constexpr double kHeldOutMax = 0.07;
    constexpr double kGroupMax = 0.12;
    const auto fitted = errors_of(
        rows, [](const formats::KernelRow& row) { return row.distribution == kBalanced; });
    const auto held_out = errors_of(
        rows, [](const formats::KernelRow& row) { return row.distribution != kBalanced; });
    double worst = 0;
    const auto by = errors_by(rows);
    for (const auto& entry : by.at("device/ep/distribution")) {
      worst = std::max(worst, entry.second.mean_absolute);
    }
    add_bar("expert kernel, fitted rows", "mean absolute error at most 6 %", fitted.mean_absolute,
            fitted.mean_absolute <= kFittedMax);
    add_bar("expert kernel, held-out rows with counts", "mean absolute error at most 7 %",
            held_out.mean_absolute, held_out.mean_absolute <= kHeldOutMax);
    add_bar("expert kernel, any device, group size and distribution",
            "mean absolute error at most 12 %", worst, worst <= kGroupMax);
  }

  /// Each file is read once, however many figures are of it.
  Result<const config::HardwareFile*> hardware_of(const std::string& name) {
    if (!hardware_.contains(name)) {
      auto file = hardware_file(name, request_.load_options);
      if (!file) {
        return tl::unexpected(std::move(file).error());
      }
      hardware_.emplace(name, *std::move(file));
    }
    return &hardware_.at(name);
  }

  Result<void> add_copies() {
    for (const CopyFigure& one : request_.published.copies) {
      const auto hardware = hardware_of(one.hardware);
      if (!hardware) {
        return tl::unexpected(hardware.error());
      }
      sim::CopyStudy study{.hardware = (*hardware)->options,
                           .communicator = one.communicator,
                           .nixl_path = one.nixl_path,
                           .bytes = kLayerBytes,
                           .copies = one.copies,
                           .copy_streams = one.copy_streams,
                           .batched_copies = one.batched_copies,
                           .rank_count = one.ranks};
      for (const auto& pair : one.pairs) {
        study.pairs.push_back({.from = pair.first, .to = pair.second});
      }
      const auto us = sim::copies_us(study);
      if (!us) {
        return tl::unexpected(us.error());
      }
      out_.rows.push_back(row_of(one.figure, "copies", "copy_gb_per_s", "GB/s",
                                 static_cast<double>(kLayerBytes) * 1e-3 / *us));
    }
    return {};
  }

  Result<void> add_host_figures() {
    for (const ReductionFigure& one : request_.published.reductions) {
      const auto hardware = hardware_of(one.hardware);
      const auto topology =
          hardware ? sim::topology_of(
                         (*hardware)->options,
                         {.ranks = one.ranks, .ranks_per_node = (*hardware)->options.gpus_per_node})
                   : Result<Topology>(tl::unexpected(hardware.error()));
      if (!topology) {
        return tl::unexpected(topology.error());
      }
      out_.rows.push_back(
          row_of(one.figure, "hosts", "all_reduce_ms", "ms",
                 sim::reduction_ns((*hardware)->options, *topology, one.algorithm, 0) * 1e-6));
    }
    for (const RecordFigure& one : request_.published.records) {
      const auto hardware = hardware_of(one.hardware);
      if (!hardware) {
        return tl::unexpected(hardware.error());
      }
      const std::int64_t picks = one.tokens * kRecordTopK;
      const auto busiest = std::llround(static_cast<double>(picks) * one.busiest_share);
      const double ns = sim::record_kernel_ns(
          (*hardware)->options, one.counting,
          {.picks = picks, .busiest_logical = busiest, .busiest_slot = busiest});
      const char* const quantity = one.counting == LoadCounting::kLogical    ? "record_logical_us"
                                   : one.counting == LoadCounting::kPhysical ? "record_physical_us"
                                                                             : "record_both_us";
      out_.rows.push_back(row_of(one.figure, "recording kernel", quantity, "us", ns * 1e-3));
    }
    return {};
  }

  void add_orders() {
    for (const PublishedOrder& order : request_.published.orders) {
      ValidatedOrder validated{
          .claim = order.claim, .metric = metric_name(order.metric), .values = {}};
      for (const ScenarioRun& run : order.runs) {
        validated.values.push_back(value_of(order.metric, run));
      }
      out_.orders.push_back(std::move(validated));
    }
  }

  void add_bar(std::string name, std::string rule, double value, bool holds) {
    out_.bars.push_back(
        {.name = std::move(name), .rule = std::move(rule), .value = value, .holds = holds});
  }

  void judge() {
    constexpr double kStepMax = 0.05;
    double worst_step = 0;
    double gains = 0;
    double gains_inside = 0;
    for (const ValidationRow& row : out_.rows) {
      if (row.group == group_of(RunMetric::kStep)) {
        worst_step = std::max(worst_step, std::abs(row.error()));
      } else if (row.group == group_of(RunMetric::kThroughputGain)) {
        gains += 1;
        gains_inside += row.inside().value_or(false) ? 1 : 0;
      }
    }
    add_bar("steps", "each within 5 %", worst_step, worst_step <= kStepMax);
    add_bar("throughput gains", "all within two standard deviations",
            gains > 0 ? gains_inside / gains : 1, gains == gains_inside);
    const auto orders = std::ranges::count_if(out_.orders, &ValidatedOrder::holds);
    add_bar("orders", "all hold", static_cast<double>(orders),
            orders == static_cast<std::ptrdiff_t>(out_.orders.size()));
    const auto controls = std::ranges::count_if(out_.controls, &NegativeControl::breaks);
    add_bar("negative controls", "all break the fit", static_cast<double>(controls),
            controls == static_cast<std::ptrdiff_t>(out_.controls.size()));
  }

  const ValidationRequest& request_;
  ScenarioRuns runs_;
  std::map<std::string, config::HardwareFile> hardware_;
  Validation out_;
};

}  // namespace

double ValidationRow::error() const {
  return unit == kShare ? predicted - published : predicted / published - 1;
}

std::optional<bool> ValidationRow::inside() const {
  if (range.has_value()) {
    return range->first <= predicted && predicted <= range->second;
  }
  if (sd.has_value()) {
    return std::abs(predicted - published) <= 2 * *sd;
  }
  return std::nullopt;
}

bool ValidatedOrder::holds() const {
  return std::ranges::adjacent_find(values, std::less_equal<>()) == values.end();
}

bool Validation::holds() const {
  return std::ranges::all_of(bars, &Bar::holds);
}

Result<Validation> validate_all(const ValidationRequest& request) {
  return Validator(request).validate();
}

}  // namespace eplb::cli
