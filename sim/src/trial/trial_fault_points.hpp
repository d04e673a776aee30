#pragma once

#include <cstdint>

#include "eplb/core/env/fault_points.hpp"
#include "eplb/sim/random_stream.hpp"
#include "eplb/sim/trial/swarm.hpp"

namespace eplb::sim {

/// Fires the points that are active in a world, now and then.
class TrialFaultPoints final : public env::FaultPoints {
 public:
  explicit TrialFaultPoints(const Swarm& swarm)
      : seed_(swarm.seed), active_(swarm.fault_points), random_(swarm.seed, "fault points") {}

  void heal() { active_ = 0; }

  [[nodiscard]] bool fires(env::FaultPoint point) override;
  [[nodiscard]] bool fires_alike(env::FaultPoint point, std::int64_t occasion) const override;

 private:
  [[nodiscard]] bool active(env::FaultPoint point) const {
    return ((active_ >> static_cast<unsigned>(point)) & 1U) != 0;
  }

  std::uint64_t seed_;
  std::uint32_t active_;
  RandomStream random_;
};

}  // namespace eplb::sim
