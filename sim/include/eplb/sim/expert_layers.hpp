#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "eplb/core/balancedness.hpp"
#include "eplb/core/cost.hpp"
#include "eplb/core/exact_split.hpp"
#include "eplb/core/shape.hpp"
#include "eplb/sim/group/host_services.hpp"
#include "eplb/sim/nearest_dealer.hpp"
#include "eplb/sim/workload.hpp"

namespace eplb::sim {

/// Time and load of a model's expert layers on one group, from counts and maps.
class ExpertLayers {
 public:
  struct Options {
    Shape shape;  ///< Of the group; its layer count does not matter here.
    Topology topology;
    ExpertLayerCost cost;
    WireCost nvlink = {};   ///< Of rows that stay in their NVLink domain,
    WireCost network = {};  ///< and of those that leave it, where that is known of each.
    std::int32_t top_k = 1;
    ReplicaDealer::Options dealer;
  };

  explicit ExpertLayers(const Options& options);

  /// What a forward has to do besides its counts.
  struct Rows {
    std::span<const std::int64_t> by_rank;  ///< Rows that each rank brings.
    std::span<const double> wire_factors;   ///< By rank, stretch its wire; empty: nothing does.
  };

  /// Layers that follow each other: where they are in the counts and in the group.
  struct Span {
    std::int32_t first_count_row = 0;
    std::int32_t first_group_layer = 0;
    std::int32_t layer_count = 0;
  };

  /// What a forward has done, by layer of the group.
  struct Tally {
    RankLoadMatrix rank_loads;  ///< Tokens of each rank, [layers, ranks].
    LoadMatrix slot_loads;      ///< Tokens of each slot, [layers, slots].
    /// Least possible tokens of the busiest rank over the replicas there are, [layers]; zeros where
    /// the replica choice is an even one, and nobody asks.
    std::vector<std::int64_t> least_max_loads;
    double weights_ns = 0;    ///< What the slowest ranks spent reading weights, summed up.
    double wire_ns = 0;       ///< And what their rows spent on the wire; the two overlap.
    double network_rows = 0;  ///< (row, k) pairs that left their NVLink domain, summed up.
  };

  /// Maps of a rank of each NVLink domain where the replica choice is by domain, else of any rank.
  using Maps = std::span<const SimMapPublisher* const>;

  /// Time in ns of the span's layers, one after another, each until its slowest rank is done. Fills
  /// the tally's rows of the span and adds to its sums.
  [[nodiscard]] std::int64_t run(const LoadMatrix& counts, const Span& span, Maps maps,
                                 const Rows& rows, Tally& tally);

 private:
  struct Layer;

  [[nodiscard]] ExpertLayerParts slowest_rank(const Layer& layer, const Rows& rows,
                                              Tally& tally) const;

  /// The wire's time where it is known which rows take which way.
  [[nodiscard]] double wire_ns(RankId rank, const ExpertLayerFeatures& features) const;

  void deal(std::span<const std::int64_t> counts, Maps maps, std::int32_t group_layer,
            Tally& tally);

  Options options_;
  double network_part_ = 0;  ///< Of all rows, if they go to all ranks alike.
  ReplicaDealer dealer_;
  std::optional<NearestDealer> nearest_;   ///< None where the choice is another.
  std::vector<const LayerMap*> maps_;      ///< By domain, of the layer at hand.
  std::optional<ExactSplit> exact_;        ///< None where the choice is even.
  std::vector<std::int64_t> exact_slots_;  ///< Tokens of each under the exact split.
};

}  // namespace eplb::sim
