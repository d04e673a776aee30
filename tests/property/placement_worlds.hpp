#pragma once

#include <boost/random/lognormal_distribution.hpp>
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>
#include <cmath>
#include <cstdint>

#include "eplb/core/load.hpp"
#include "eplb/core/shape.hpp"

namespace eplb::test {

/// A shape, its nodes and a load, drawn from a seed; the same seed gives the same world everywhere.
class PlacementWorld {
 public:
  explicit PlacementWorld(std::uint64_t seed) : random_(seed) {
    node_count = between(1, 3);
    const std::int32_t ranks = node_count * between(1, 4);
    const std::int32_t groups = between(1, 6);
    const std::int32_t experts = groups * between(1, 6);
    const std::int32_t slots_per_rank = (experts + ranks - 1) / ranks + between(0, 2);
    shape = {.layer_count = between(0, 3),
             .expert_count = experts,
             .redundant_slot_count = ranks * slots_per_rank - experts,
             .rank_count = ranks,
             .expert_group_count = groups};
    load = draw_load();
  }

  /// Lognormal token counts; every eighth expert or so has none, and some experts tie.
  [[nodiscard]] RealLoadMatrix draw_load() {
    boost::random::lognormal_distribution<double> skew(0.0, 1.0);
    const std::int32_t mean_tokens = between(0, 1) == 0 ? 4 : 100'000;
    RealLoadMatrix drawn(shape.layer_count, shape.expert_count);
    for (double& cell : drawn.reshaped<Eigen::RowMajor>()) {
      cell = between(0, 7) == 0 ? 0 : std::round(mean_tokens * skew(random_));
    }
    return drawn;
  }

  /// Uniform in [least, most].
  [[nodiscard]] std::int32_t between(std::int32_t least, std::int32_t most) {
    return boost::random::uniform_int_distribution<std::int32_t>(least, most)(random_);
  }

  Shape shape;
  std::int32_t node_count = 1;
  RealLoadMatrix load;

 private:
  boost::random::mt19937_64 random_;
};

}  // namespace eplb::test
