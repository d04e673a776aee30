// Goal: the window is an exact ring of the last recorded steps, read out in parts. Method: counts
// that name their step (powers of two, so that a sum tells which steps are in it).
#include "eplb/core/load_window.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace eplb {
namespace {

LoadWindow window_of(std::int32_t steps, std::int32_t parts,
                     std::optional<double> half_life_steps = std::nullopt) {
  return LoadWindow::create({.layer_count = 1,
                             .expert_count = 1,
                             .step_count_max = steps,
                             .part_count = parts,
                             .half_life_steps = half_life_steps})
      .value();
}

LoadMatrix one_count(std::int64_t count) {
  return LoadMatrix::Constant(1, 1, count);
}

/// Records 1, 2, 4, ...: bit s of any sum says whether step s is in it.
void record_steps(LoadWindow& window, int step_count) {
  for (int step = 0; step < step_count; ++step) {
    REQUIRE(window.record(one_count(std::int64_t{1} << step)).has_value());
  }
}

std::vector<double> parts_of(LoadWindow& window) {
  std::vector<double> sums;
  for (const RealLoadMatrix& part : window.parts()) {
    sums.push_back(part(0, 0));
  }
  return sums;
}

template <typename T>
ErrorCode code_of(const Result<T>& result) {
  REQUIRE_FALSE(result.has_value());
  return result.error().code;
}

TEST_CASE("nothing recorded reads as zero in every part") {
  LoadWindow window = window_of(8, 4);
  CHECK(window.recorded_step_count() == 0);
  CHECK(parts_of(window) == std::vector<double>{0, 0, 0, 0});
  CHECK(window.total()(0, 0) == 0);
}

TEST_CASE("a full window's parts are its equal shares, oldest first") {
  LoadWindow window = window_of(8, 4);
  record_steps(window, 8);
  CHECK(window.recorded_step_count() == 8);
  CHECK(parts_of(window) == std::vector<double>{0b11, 0b1100, 0b110000, 0b11000000});
  CHECK(window.total()(0, 0) == 0b11111111);
}

TEST_CASE("a window that is not yet full divides the steps it has") {
  LoadWindow window = window_of(8, 4);
  record_steps(window, 6);
  CHECK(window.recorded_step_count() == 6);
  // Bounds of the parts: 0, 6/4, 12/4, 18/4, 6, rounded down to 0, 1, 3, 4, 6.
  CHECK(parts_of(window) == std::vector<double>{0b1, 0b110, 0b1000, 0b110000});
}

TEST_CASE("with fewer steps than parts some parts are empty") {
  LoadWindow window = window_of(8, 4);
  record_steps(window, 2);
  // Bounds 0, 0, 1, 1, 2.
  CHECK(parts_of(window) == std::vector<double>{0, 0b1, 0, 0b10});
}

TEST_CASE("a full window forgets its oldest step with each new one") {
  LoadWindow window = window_of(4, 2);
  record_steps(window, 5);
  CHECK(window.recorded_step_count() == 4);
  CHECK(parts_of(window) == std::vector<double>{0b00110, 0b11000});
  CHECK(window.total()(0, 0) == 0b11110);
}

TEST_CASE("the ring wraps around more than once") {
  for (int recorded = 4; recorded <= 30; ++recorded) {
    CAPTURE(recorded);
    LoadWindow window = window_of(4, 4);
    record_steps(window, recorded);
    const double oldest = std::exp2(recorded - 4);
    CHECK(parts_of(window) == std::vector<double>{oldest, 2 * oldest, 4 * oldest, 8 * oldest});
  }
}

TEST_CASE("a window of one step is the newest step") {
  LoadWindow window = window_of(1, 1);
  record_steps(window, 3);
  CHECK(parts_of(window) == std::vector<double>{0b100});
}

TEST_CASE("layers and experts keep their places") {
  LoadWindow window =
      LoadWindow::create(
          {.layer_count = 2, .expert_count = 3, .step_count_max = 4, .part_count = 1})
          .value();
  LoadMatrix counts(2, 3);
  counts << 1, 2, 3, 40, 50, 60;
  REQUIRE(window.record(counts).has_value());
  REQUIRE(window.record(counts).has_value());
  CHECK(window.total() == counts * 2);
  REQUIRE(window.parts().size() == 1);
  CHECK(window.parts().front() == (counts * 2).cast<double>());
}

TEST_CASE("decay halves a step's weight every half life, the newest step counting whole") {
  LoadWindow window = window_of(8, 2, 2.0);
  for (int step = 0; step < 8; ++step) {
    REQUIRE(window.record(one_count(1000)).has_value());
  }
  const std::vector<double> parts = parts_of(window);
  const auto weight = [](double age) { return std::pow(0.5, age / 2.0); };
  REQUIRE(parts.size() == 2);
  CHECK(parts[0] == doctest::Approx(1000 * (weight(7) + weight(6) + weight(5) + weight(4))));
  CHECK(parts[1] == doctest::Approx(1000 * (weight(3) + weight(2) + weight(1) + weight(0))));
  CHECK(window.total()(0, 0) == 8000);
}

TEST_CASE("the age of a step counts from the newest recorded one, also before the window is full") {
  LoadWindow window = window_of(100, 1, 1.0);
  record_steps(window, 2);
  CHECK(parts_of(window) == std::vector<double>{0.5 * 1 + 1.0 * 2});
}

TEST_CASE("counts up to 2^31 - 1 are recorded exactly and summed in 64 bits") {
  const std::int64_t largest = std::numeric_limits<std::int32_t>::max();
  LoadWindow window = window_of(4, 1);
  for (int step = 0; step < 4; ++step) {
    REQUIRE(window.record(one_count(largest)).has_value());
  }
  CHECK(window.total()(0, 0) == 4 * largest);
  CHECK(parts_of(window) == std::vector<double>{4.0 * static_cast<double>(largest)});
}

TEST_CASE("a count out of range is refused and leaves the window unchanged") {
  LoadWindow window =
      LoadWindow::create(
          {.layer_count = 1, .expert_count = 2, .step_count_max = 1, .part_count = 1})
          .value();
  LoadMatrix counts(1, 2);
  counts << 7, 8;
  REQUIRE(window.record(counts).has_value());
  for (const std::int64_t bad : {std::int64_t{-1}, std::int64_t{1} << 31, std::int64_t{1} << 40,
                                 std::numeric_limits<std::int64_t>::min()}) {
    CAPTURE(bad);
    LoadMatrix refused(1, 2);
    refused << 1, bad;
    CHECK(code_of(window.record(refused)) == ErrorCode::kInvalidArgument);
    CHECK(window.recorded_step_count() == 1);
    CHECK(window.total() == counts);
  }
}

TEST_CASE("a step's load of another size is refused") {
  LoadWindow window = LoadWindow::create({.layer_count = 2, .expert_count = 3}).value();
  CHECK(code_of(window.record(LoadMatrix::Zero(3, 2))) == ErrorCode::kInvalidArgument);
  CHECK(code_of(window.record(LoadMatrix::Zero(2, 4))) == ErrorCode::kInvalidArgument);
  CHECK(code_of(window.record(LoadMatrix::Zero(0, 0))) == ErrorCode::kInvalidArgument);
  CHECK(window.recorded_step_count() == 0);
}

TEST_CASE("a pipeline stage without layers counts its steps") {
  LoadWindow window =
      LoadWindow::create(
          {.layer_count = 0, .expert_count = 256, .step_count_max = 2, .part_count = 2})
          .value();
  for (int step = 0; step < 3; ++step) {
    REQUIRE(window.record(LoadMatrix(0, 256)).has_value());
  }
  CHECK(window.recorded_step_count() == 2);
  CHECK(window.memory_bytes() == 0);
  REQUIRE(window.parts().size() == 2);
  CHECK(window.parts().front().rows() == 0);
  CHECK(window.parts().front().cols() == 256);
  CHECK(window.total().size() == 0);
}

TEST_CASE("a window takes four bytes a step, layer and expert") {
  CHECK(LoadWindow::create({.layer_count = 40, .expert_count = 384}).value().memory_bytes() ==
        61'440'000);
}

TEST_CASE("a window that makes no sense is refused") {
  const auto refused = [](const LoadWindow::Options& options) {
    return code_of(LoadWindow::create(options));
  };
  CHECK(refused({.layer_count = -1, .expert_count = 4}) == ErrorCode::kInvalidArgument);
  CHECK(refused({.layer_count = 1, .expert_count = 0}) == ErrorCode::kInvalidArgument);
  CHECK(refused({.layer_count = 1, .expert_count = 4, .step_count_max = 0}) ==
        ErrorCode::kInvalidArgument);
  CHECK(refused({.layer_count = 1, .expert_count = 4, .step_count_max = 4, .part_count = 0}) ==
        ErrorCode::kInvalidArgument);
  CHECK(refused({.layer_count = 1, .expert_count = 4, .step_count_max = 4, .part_count = 5}) ==
        ErrorCode::kInvalidArgument);
  for (const double half_life : {0.0, -1.0, std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::quiet_NaN()}) {
    CAPTURE(half_life);
    CHECK(refused({.layer_count = 1, .expert_count = 4, .half_life_steps = half_life}) ==
          ErrorCode::kInvalidArgument);
  }
}

TEST_CASE("a window that no host can hold is refused before it is allocated") {
  const auto window = LoadWindow::create(
      {.layer_count = 10, .expert_count = 1000, .step_count_max = 1'000'000'000, .part_count = 4});
  CHECK(code_of(window) == ErrorCode::kResourceExhausted);
  CHECK(window.error().message ==
        "a load window of 40000.000000 GB is too large; use a smaller window size");
}

}  // namespace
}  // namespace eplb
