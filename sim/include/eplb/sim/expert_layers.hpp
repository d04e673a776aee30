#pragma once

#include <cstdint>
#include <vector>

#include "eplb/core/balancedness.hpp"
#include "eplb/core/cost.hpp"
#include "eplb/core/shape.hpp"
#include "eplb/sim/environment.hpp"
#include "eplb/sim/workload.hpp"

namespace eplb::sim {

/// Time and load of all expert layers of a forward, from its counts and the maps it looks up.
class ExpertLayers {
 public:
  struct Options {
    Shape shape;
    ExpertLayerCost cost;
    std::int32_t block_rows = 16;
    ReplicaDealer::Options dealer;
  };

  explicit ExpertLayers(const Options& options);

  struct Forward {
    std::int64_t duration_ns;
    Balancedness balancedness;
  };

  /// Every layer ends with its slowest rank; layers follow each other.
  [[nodiscard]] Forward run(const LoadMatrix& counts, const SimMapPublisher& maps);

  /// Tokens of each rank in the newest forward, [layers, ranks].
  [[nodiscard]] const RankLoadMatrix& rank_loads() const { return rank_loads_; }

 private:
  Options options_;
  ReplicaDealer dealer_;
  std::vector<std::int64_t> tokens_per_slot_;
  RankLoadMatrix rank_loads_;
};

}  // namespace eplb::sim
