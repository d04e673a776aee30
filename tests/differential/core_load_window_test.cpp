// Goal: the ring gives what the whole history would give. Method: random records beside a plain
// list of every step ever recorded; after each step all parts, the total and the decayed parts are
// summed anew from that list, each step finding its part by the inverse of the window's formula.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "eplb/core/load_window.hpp"
#include "random_worlds.hpp"
#include "seed.hpp"

namespace eplb {
namespace {

using test::RandomWorlds;
using test::replay_hint;

/// Everything that was ever recorded, read out the slow way.
class FullHistory {
 public:
  explicit FullHistory(const LoadWindow::Options& options) : options_(options) {}

  void record(const LoadMatrix& counts) { steps_.push_back(counts); }

  [[nodiscard]] std::vector<RealLoadMatrix> parts() const {
    std::vector<RealLoadMatrix> parts(
        static_cast<std::size_t>(options_.part_count),
        RealLoadMatrix::Zero(options_.layer_count, options_.expert_count));
    const std::vector<LoadMatrix> kept = newest_steps();
    const auto step_count = static_cast<std::int64_t>(kept.size());
    for (std::int64_t step = 0; step < step_count; ++step) {
      // The part whose share of the time line the step's end lies in.
      const std::int64_t part = ((step + 1) * options_.part_count - 1) / step_count;
      const auto age = static_cast<double>(step_count - 1 - step);
      const double weight =
          options_.half_life_steps ? std::pow(2.0, -age / *options_.half_life_steps) : 1.0;
      parts[static_cast<std::size_t>(part)] +=
          weight * kept[static_cast<std::size_t>(step)].cast<double>();
    }
    return parts;
  }

  [[nodiscard]] LoadMatrix total() const {
    LoadMatrix sum = LoadMatrix::Zero(options_.layer_count, options_.expert_count);
    for (const LoadMatrix& counts : newest_steps()) {
      sum += counts;
    }
    return sum;
  }

 private:
  [[nodiscard]] std::vector<LoadMatrix> newest_steps() const {
    const auto most = static_cast<std::ptrdiff_t>(options_.step_count_max);
    const auto kept = std::min(most, std::ssize(steps_));
    return {steps_.end() - kept, steps_.end()};
  }

  LoadWindow::Options options_;
  std::vector<LoadMatrix> steps_;
};

LoadWindow::Options random_options(RandomWorlds& worlds) {
  const std::int32_t steps = worlds.between(1, 25);
  return {.layer_count = worlds.between(0, 3),
          .expert_count = worlds.between(1, 5),
          .step_count_max = steps,
          .part_count = worlds.between(1, steps)};
}

TEST_CASE("a window equals its recomputation from the whole history, exactly") {
  RandomWorlds worlds(test::run_seed());
  INFO(replay_hint(test::run_seed()));
  for (int world = 0; world < 150; ++world) {
    CAPTURE(world);
    const LoadWindow::Options options = random_options(worlds);
    LoadWindow window = LoadWindow::create(options).value();
    FullHistory history(options);
    const int step_count = worlds.between(1, 80);
    for (int step = 0; step < step_count; ++step) {
      CAPTURE(step);
      const LoadMatrix counts =
          worlds.counts(options.layer_count, options.expert_count, 2147483647);
      REQUIRE(window.record(counts).has_value());
      history.record(counts);
      REQUIRE(window.total() == history.total());
      REQUIRE(window.parts() == history.parts());
    }
  }
}

TEST_CASE("a decayed window equals its recomputation from the whole history") {
  RandomWorlds worlds(test::run_seed());
  INFO(replay_hint(test::run_seed()));
  for (int world = 0; world < 100; ++world) {
    CAPTURE(world);
    LoadWindow::Options options = random_options(worlds);
    options.half_life_steps = worlds.between(1, 100) / 8.0;
    LoadWindow window = LoadWindow::create(options).value();
    FullHistory history(options);
    const int step_count = worlds.between(1, 60);
    for (int step = 0; step < step_count; ++step) {
      const LoadMatrix counts = worlds.counts(options.layer_count, options.expert_count, 5000);
      REQUIRE(window.record(counts).has_value());
      history.record(counts);
    }
    const std::vector<RealLoadMatrix> parts = window.parts();
    const std::vector<RealLoadMatrix> expected = history.parts();
    REQUIRE(parts.size() == expected.size());
    for (std::size_t part = 0; part < parts.size(); ++part) {
      CAPTURE(part);
      REQUIRE((parts[part] - expected[part]).cwiseAbs().sum() <=
              1e-9 * (1 + expected[part].cwiseAbs().sum()));
    }
  }
}

}  // namespace
}  // namespace eplb
