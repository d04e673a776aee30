#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "eplb/core/result.hpp"
#include "eplb/formats/kernel_table.hpp"
#include "eplb/sim/calibration/measured_layer.hpp"

namespace eplb::cli {

/// The routing of a table's rows that is the same in every measurement, so that its counts follow.
inline constexpr std::string_view kBalanced = "balanced";

/// Reads a table: a CSV with its counts, if there are any, or measurements as configs/measurements
/// keeps them, with counts of their own.
[[nodiscard]] Result<formats::KernelMeasurements> read_measurements(
    const std::filesystem::path& table, const std::optional<std::string>& counts);

/// A row with the counts that are given under its key; balanced rows have theirs by rule. Without
/// counts the layer cannot be predicted. kInvalidArgument if counts are for other experts.
[[nodiscard]] Result<sim::MeasuredLayer> measured_layer(const formats::KernelRow& row,
                                                        const formats::KernelCounts& counts);

[[nodiscard]] Result<std::vector<sim::MeasuredLayer>> measured_layers(
    const formats::KernelMeasurements& measurements);

/// A row of a `power_law_sampled_X` distribution with counts drawn anew, one layer a seed; empty
/// for other rows. What the benchmark drew is not known, only how.
[[nodiscard]] std::vector<sim::MeasuredLayer> drawn_layers(const formats::KernelRow& row,
                                                           std::span<const std::uint64_t> seeds);

}  // namespace eplb::cli
