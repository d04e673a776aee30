#pragma once

#include <cstdint>

#include "checker.hpp"
#include "eplb/sim/random_stream.hpp"
#include "eplb/sim/trial/swarm.hpp"

namespace eplb::sim {

/// The tokens of a trial, rank by rank.
class TrialTokens {
 public:
  explicit TrialTokens(const Swarm& swarm)
      : swarm_(swarm), random_(swarm.seed, "tokens"), replicas_(swarm.seed, "replicas") {}

  /// Counts of `rank` in a step, dealt to replicas through its maps.
  [[nodiscard]] RankCounts draw(const SimRank& rank, const Shape& shape, std::int64_t step);

  /// The next draw of its streams.
  [[nodiscard]] std::uint64_t unseed() { return random_.bits() ^ replicas_.bits(); }

 private:
  [[nodiscard]] std::int64_t count_of(std::int32_t layer, std::int32_t expert, std::int64_t step);

  const Swarm& swarm_;
  RandomStream random_;
  RandomStream replicas_;
};

}  // namespace eplb::sim
