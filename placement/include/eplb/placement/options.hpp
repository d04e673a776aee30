#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace eplb::placement {

/// One setting that a search varies.
struct SearchAxis {
  /// A key of the configuration with its dots, or `policy.` and an option that policies have.
  std::string key;
  std::vector<std::string> values;  ///< Each as YAML on one line; at least one.
};

/// Settings that are judged at most; a space may be far larger, and is drawn from.
inline constexpr std::int64_t kSearchCandidatesMax = 10'000;

/// How many settings the axes span; 2^63 - 1 if there are more.
[[nodiscard]] std::int64_t space_size(std::span<const SearchAxis> axes);

/// What a setting is judged by.
enum class SearchObjective : std::uint8_t {
  kThroughput,  ///< Accepted tokens/s of all ranks.
  kP99Step,     ///< 99th percentile of step times, ms.
  kMemory,      ///< Bytes on each rank: weights, landing rows, maps.
  kMovedBytes,  ///< By all rearrangements of a run, on all ranks together.
};

/// As configurations and reports call it.
[[nodiscard]] constexpr std::string_view to_string(SearchObjective objective) {
  switch (objective) {
    case SearchObjective::kThroughput:
      return "throughput";
    case SearchObjective::kP99Step:
      return "p99_step";
    case SearchObjective::kMemory:
      return "memory";
    case SearchObjective::kMovedBytes:
      return "moved_bytes";
  }
  return "";
}

enum class SearchMethod : std::uint8_t {
  kGrid,               ///< Every setting that the axes span.
  kRandom,             ///< Some of them, drawn.
  kSuccessiveHalving,  ///< Many on few seeds, the better part of them on more, and so on.
};

/// The section `search` of a configuration.
struct SearchOptions {
  std::vector<SearchAxis> axes = {};
  /// The first one decides where another has to; none twice.
  std::vector<SearchObjective> objectives = {SearchObjective::kThroughput,
                                             SearchObjective::kP99Step, SearchObjective::kMemory,
                                             SearchObjective::kMovedBytes};
  SearchMethod method = SearchMethod::kGrid;

  std::optional<std::int32_t> candidates = std::nullopt;  ///< To draw; none: all.
  std::int32_t seeds = 3;                                 ///< In the last rung.
  std::int32_t confirm_seeds = 5;  ///< Fresh ones for the front, which have chosen nothing.
  std::int32_t rungs = 3;          ///< Of successive halving.
  double keep = 0.5;               ///< Share of candidates that goes on to the next rung.
  std::vector<std::int32_t> rung_steps = {};  ///< Of a run in each rung; none: as in all runs.
};

}  // namespace eplb::placement
