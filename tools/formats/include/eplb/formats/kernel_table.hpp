#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "eplb/core/result.hpp"

namespace eplb::formats {

/// One measured time of an expert layer's kernel, dispatch to combine, as a table has it.
struct KernelRow {
  std::int64_t line = 0;  ///< In the table, from 1.
  std::string device;     ///< As "gb200".
  std::int32_t ranks = 0;
  std::int64_t tokens_per_rank = 0;
  std::int32_t hidden = 0;
  std::int32_t intermediate = 0;
  std::int32_t experts = 0;
  std::int32_t top_k = 0;
  std::string distribution;  ///< Of tokens over experts, by name.
  double latency_us = 0;
};

/// Reads a CSV whose first line names its columns, in any order: device, ep, tokens_per_rank,
/// hidden, inter, experts, top_k, distribution, latency_us; others are ignored. Cells hold no
/// commas and no quotes.
///
/// kInvalidArgument or kResourceExhausted with "table.csv:3:7: error: ep: must be ...".
[[nodiscard]] Result<std::vector<KernelRow>> parse_kernel_table(std::string_view text,
                                                                std::string_view source_name);

[[nodiscard]] Result<std::vector<KernelRow>> read_kernel_table(const std::filesystem::path& path);

/// Tokens of each expert, by "experts/epN/tT/distribution".
using KernelCounts = std::map<std::string, std::vector<std::int64_t>, std::less<>>;

/// The key of a row's counts, as "384/ep16/t432/power_law_1.01".
[[nodiscard]] std::string counts_key(const KernelRow& row);

/// Reads `{"384/ep4/t1/power_law_1.01": [3, 0, ...], ...}`: whole numbers from 0, below 2^53.
[[nodiscard]] Result<KernelCounts> parse_kernel_counts(std::string_view text,
                                                       std::string_view source_name);

[[nodiscard]] Result<KernelCounts> read_kernel_counts(const std::filesystem::path& path);

/// Measurements as a project keeps them: where they are from, series of rows, and their counts.
struct KernelMeasurements {
  std::string source;
  std::string licence;
  std::vector<KernelRow> rows;
  KernelCounts counts;
};

/// Reads `{"source", "licence", "model": {"hidden", "intermediate", "experts", "top_k"}, "series":
/// [{"device", "ranks", "distribution", "tokens_per_rank": [...], "latency_us": [...]}],
/// "counts"}`.
[[nodiscard]] Result<KernelMeasurements> parse_kernel_measurements(std::string_view text,
                                                                   std::string_view source_name);

[[nodiscard]] Result<KernelMeasurements> read_kernel_measurements(
    const std::filesystem::path& path);

}  // namespace eplb::formats
