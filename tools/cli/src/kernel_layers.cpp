#include "kernel_layers.hpp"

#include <fmt/core.h>

#include <charconv>

#include "eplb/sim/calibration/routing_counts.hpp"

namespace eplb::cli {
namespace {

constexpr std::string_view kSampled = "power_law_sampled_";

sim::MeasuredLayer layer_of(const formats::KernelRow& row) {
  return {.device = row.device,
          .distribution = row.distribution,
          .model = {.name = {},
                    .moe_layers = 1,
                    .hidden = row.hidden,
                    .moe_intermediate = row.intermediate,
                    .logical_experts = row.experts,
                    .top_k = row.top_k,
                    // What Mega MoE computes: FP8 rows, FP4 weights.
                    .weight_format = WeightFormat::kMxfp4},
          .ranks = row.ranks,
          .tokens_per_rank = row.tokens_per_rank,
          .busiest = {},
          .measured_us = row.latency_us};
}

sim::RoutedTokens routed(const formats::KernelRow& row) {
  return {.experts = row.experts, .top_k = row.top_k, .tokens = row.tokens_per_rank * row.ranks};
}

void set_counts(const formats::KernelRow& row, std::span<const std::int64_t> counts,
                sim::MeasuredLayer& layer) {
  layer.busiest = sim::features_by_rank(counts, row.ranks, row.tokens_per_rank * row.top_k);
}

}  // namespace

Result<formats::KernelMeasurements> read_measurements(const std::filesystem::path& table,
                                                      const std::optional<std::string>& counts) {
  if (table.extension() == ".json") {
    return formats::read_kernel_measurements(table);
  }
  auto rows = formats::read_kernel_table(table);
  if (!rows) {
    return tl::unexpected(std::move(rows).error());
  }
  formats::KernelMeasurements measurements{
      .source = table.string(), .licence = {}, .rows = *std::move(rows), .counts = {}};
  if (counts.has_value()) {
    auto read = formats::read_kernel_counts(*counts);
    if (!read) {
      return tl::unexpected(std::move(read).error());
    }
    measurements.counts = *std::move(read);
  }
  return measurements;
}

Result<sim::MeasuredLayer> measured_layer(const formats::KernelRow& row,
                                          const formats::KernelCounts& counts) {
  sim::MeasuredLayer layer = layer_of(row);
  if (const auto given = counts.find(formats::counts_key(row)); given != counts.end()) {
    if (given->second.size() != static_cast<std::size_t>(row.experts)) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("counts of {}: must be one for each of {} experts, got {}",
                              given->first, row.experts, given->second.size()));
    }
    set_counts(row, given->second, layer);
  } else if (row.distribution == kBalanced) {
    set_counts(row, sim::balanced_counts(routed(row)), layer);
  }
  return layer;
}

Result<std::vector<sim::MeasuredLayer>> measured_layers(
    const formats::KernelMeasurements& measurements) {
  std::vector<sim::MeasuredLayer> layers;
  layers.reserve(measurements.rows.size());
  for (const formats::KernelRow& row : measurements.rows) {
    auto layer = measured_layer(row, measurements.counts);
    if (!layer) {
      return tl::unexpected(std::move(layer).error());
    }
    layers.push_back(*std::move(layer));
  }
  return layers;
}

std::vector<sim::MeasuredLayer> drawn_layers(const formats::KernelRow& row,
                                             std::span<const std::uint64_t> seeds) {
  std::vector<sim::MeasuredLayer> layers;
  if (!row.distribution.starts_with(kSampled)) {
    return layers;
  }
  const std::string_view text = std::string_view(row.distribution).substr(kSampled.size());
  double exponent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (error != std::errc() || end != text.data() + text.size() || exponent <= 1) {
    return layers;
  }
  layers.reserve(seeds.size());
  for (const std::uint64_t seed : seeds) {
    layers.push_back(layer_of(row));
    set_counts(row, sim::sampled_power_law_counts(routed(row), exponent, seed), layers.back());
  }
  return layers;
}

}  // namespace eplb::cli
