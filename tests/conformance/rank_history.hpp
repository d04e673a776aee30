#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "eplb/core/layer_map.hpp"
#include "eplb/core/load.hpp"
#include "eplb/group/recorded_calls.hpp"

namespace eplb::test {

/// A layer's map, published in a step: the forward after that is the first that looks it up.
struct PublishedMap {
  std::int64_t step;
  std::int32_t layer;
  env::PlacementEpoch epoch;
  LayerMap map;

  friend bool operator==(const PublishedMap&, const PublishedMap&) = default;
};

/// What a rank gave to the sum of its window, and the passes that it had taken when the
/// rearrangement was triggered, which that must be made of.
struct WindowSum {
  std::int64_t rearrangement;
  std::size_t pass_count;
  std::vector<double> values;
};

/// What a rank's recorded calls say of the promises that a balancer makes.
struct RankHistory {
  std::vector<PublishedMap> published;
  std::vector<env::RecordedPass> passes;  ///< Oldest first.
  std::vector<WindowSum> windows;
  /// Over all ranks, as it was answered; by rearrangement.
  std::map<std::int64_t, std::vector<double>> window_totals;
  std::vector<env::TraceRecord> records;
  std::int64_t held_answers = 0;
};

[[nodiscard]] RankHistory history_of(const group::RecordedCalls& calls);

/// Records of one kind.
[[nodiscard]] std::vector<env::TraceRecord> records_of(const RankHistory& history,
                                                       env::TraceEvent event);

/// The map of a layer that the forward of a step looked up.
[[nodiscard]] LayerMap map_in_step(const RankHistory& history, const Shape& shape, LayerId layer,
                                   std::int64_t step);

/// Physical counts by expert, as a map has them.
[[nodiscard]] std::vector<std::int64_t> folded(const env::RecordedPass& pass, LayerId layer,
                                               const LayerMap& map);

/// The window that the rank must have summed, recounted from its passes: of the newest
/// `window_size` recorded ones, a sum for each of equally many parts, oldest first.
[[nodiscard]] std::vector<double> recounted(const RankHistory& history, const WindowSum& window,
                                            const EplbOptions& options, const Shape& shape);

}  // namespace eplb::test
