// Goal: a sum that is made in slices, with steps recorded in between, is the sum of what the window
// held at its start. Method: counts that name their step (powers of two), compared with what
// parts() gave at the start, for full and partly filled windows and every order of slices and
// steps.
#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "eplb/core/load_window.hpp"
#include "print_vector.hpp"

namespace eplb {
namespace {

LoadWindow window_of(std::optional<double> half_life_steps = std::nullopt) {
  return LoadWindow::create({.layer_count = 1,
                             .expert_count = 2,
                             .step_count_max = 6,
                             .part_count = 3,
                             .half_life_steps = half_life_steps})
      .value();
}

void record_steps(LoadWindow& window, int first, int count) {
  for (int step = first; step < first + count; ++step) {
    LoadMatrix counts(1, 2);
    counts << (std::int64_t{1} << step), step;
    REQUIRE(window.record(counts).has_value());
  }
}

std::vector<double> values_of(const std::vector<RealLoadMatrix>& parts) {
  std::vector<double> values;
  for (const RealLoadMatrix& part : parts) {
    values.insert(values.end(), part.data(), part.data() + part.size());
  }
  return values;
}

/// A step's two counts a call.
constexpr std::int64_t kOneStep = 2;

TEST_CASE("a sum in slices takes as many calls as steps and equals the parts at its start") {
  LoadWindow window = window_of();
  record_steps(window, 0, 8);
  const std::vector<double> expected = values_of(window.parts());
  CHECK(expected == std::vector<double>{0b1100, 5, 0b110000, 9, 0b11000000, 13});
  window.start_sum();
  for (int call = 0; call < 5; ++call) {
    CHECK_FALSE(window.advance_sum(kOneStep));
  }
  CHECK(window.advance_sum(kOneStep));
  CHECK(values_of(window.take_sum()) == expected);
}

TEST_CASE("steps recorded while a sum is made are not in it, wherever they fall") {
  for (const int filled : {0, 1, 3, 5, 6, 9}) {
    for (const std::optional<double> half_life : {std::optional<double>(), std::optional(2.0)}) {
      // `pattern` says, bit by bit, whether a step is recorded before a slice.
      for (unsigned pattern = 0; pattern < 64; ++pattern) {
        CAPTURE(filled);
        CAPTURE(pattern);
        LoadWindow window = window_of(half_life);
        record_steps(window, 0, filled);
        const std::vector<double> expected = values_of(window.parts());
        window.start_sum();
        int recorded = filled;
        for (unsigned slice = 0; slice < 6; ++slice) {
          if ((pattern >> slice & 1U) != 0) {
            record_steps(window, recorded, 1);
            ++recorded;
          }
          (void)window.advance_sum(kOneStep);
        }
        REQUIRE(window.advance_sum(kOneStep));
        REQUIRE(values_of(window.take_sum()) == expected);
      }
    }
  }
}

TEST_CASE("a sum outlives any number of steps that are recorded before its first slice") {
  for (int later = 0; later <= 20; ++later) {
    CAPTURE(later);
    LoadWindow window = window_of();
    record_steps(window, 0, 4);
    const std::vector<double> expected = values_of(window.parts());
    window.start_sum();
    record_steps(window, 4, later);
    REQUIRE(window.advance_sum(1000));
    CHECK(values_of(window.take_sum()) == expected);
  }
}

TEST_CASE("a sum that starts anew drops the one under way") {
  LoadWindow window = window_of();
  record_steps(window, 0, 6);
  window.start_sum();
  (void)window.advance_sum(kOneStep);
  record_steps(window, 6, 1);
  window.start_sum();
  REQUIRE(window.advance_sum(1000));
  CHECK(values_of(window.take_sum()) == std::vector<double>{0b110, 3, 0b11000, 7, 0b1100000, 11});
}

TEST_CASE("a sum of nothing is complete at once") {
  LoadWindow window = window_of();
  window.start_sum();
  CHECK(window.advance_sum(1));
  CHECK(values_of(window.take_sum()) == std::vector<double>(6, 0.0));
}

}  // namespace
}  // namespace eplb
