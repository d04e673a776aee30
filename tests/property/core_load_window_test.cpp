// Goal: however a window is cut into parts, nothing is lost and nothing counted twice. Method:
// random windows and counts; sums of parts, and decay at its two ends.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>

#include "eplb/core/load_window.hpp"
#include "random_worlds.hpp"
#include "seed.hpp"

namespace eplb {
namespace {

using test::RandomWorlds;
using test::replay_hint;

RealLoadMatrix sum_of_parts(LoadWindow& window) {
  RealLoadMatrix sum =
      RealLoadMatrix::Zero(window.options().layer_count, window.options().expert_count);
  for (const RealLoadMatrix& part : window.parts()) {
    sum += part;
  }
  return sum;
}

TEST_CASE("the parts of a window sum to its total") {
  RandomWorlds worlds(test::run_seed());
  INFO(replay_hint(test::run_seed()));
  for (int world = 0; world < 100; ++world) {
    CAPTURE(world);
    const std::int32_t steps = worlds.between(1, 20);
    LoadWindow window = LoadWindow::create({.layer_count = worlds.between(0, 3),
                                            .expert_count = worlds.between(1, 6),
                                            .step_count_max = steps,
                                            .part_count = worlds.between(1, steps)})
                            .value();
    for (int step = 0; step < 50; ++step) {
      const LoadMatrix counts =
          worlds.counts(window.options().layer_count, window.options().expert_count, 1000);
      REQUIRE(window.record(counts).has_value());
      REQUIRE(window.recorded_step_count() == std::min(step + 1, steps));
      REQUIRE(window.parts().size() == static_cast<std::size_t>(window.options().part_count));
      REQUIRE(sum_of_parts(window) == window.total().cast<double>());
    }
  }
}

TEST_CASE("decay lies between the newest step and the whole window") {
  RandomWorlds worlds(test::run_seed());
  INFO(replay_hint(test::run_seed()));
  for (int world = 0; world < 100; ++world) {
    CAPTURE(world);
    LoadWindow::Options options{.layer_count = 2,
                                .expert_count = 3,
                                .step_count_max = worlds.between(1, 12),
                                .part_count = 1,
                                .half_life_steps = worlds.between(1, 50) / 4.0};
    LoadWindow decayed = LoadWindow::create(options).value();
    options.half_life_steps = 1e9;
    LoadWindow hardly_decayed = LoadWindow::create(options).value();
    LoadMatrix newest;
    for (int step = 0; step < 30; ++step) {
      newest = worlds.counts(2, 3, 1000);
      REQUIRE(decayed.record(newest).has_value());
      REQUIRE(hardly_decayed.record(newest).has_value());
    }
    const RealLoadMatrix sum = sum_of_parts(decayed);
    const RealLoadMatrix total = decayed.total().cast<double>();
    REQUIRE((sum.array() >= newest.cast<double>().array()).all());
    REQUIRE((sum.array() <= total.array()).all());
    REQUIRE(sum_of_parts(hardly_decayed).isApprox(total, 1e-6));
  }
}

}  // namespace
}  // namespace eplb
