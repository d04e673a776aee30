// Goal: how sure a search is follows from paired differences. Method: pairs worked out by hand;
// Student's distribution with two degrees of freedom has a closed form.
#include "search_statistics.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "search_sentence.hpp"

namespace eplb {
namespace {

using doctest::Approx;
using placement::Samples;
using placement::SearchObjective;

TEST_CASE("an advantage pairs runs of the same seed") {
  // Differences 1, 2, 3: mean 2, standard error 1 / sqrt(3), t = 2 sqrt(3).
  const Samples base{{100}, {200}, {300}};
  const Samples own{{101}, {202}, {303}};
  const auto more = cli::advantage_of(base, own, 0, SearchObjective::kThroughput);
  CHECK(more.mean == Approx(202));
  CHECK(more.gain->mean == Approx(0.01));
  CHECK(more.gain->half_width.value() == Approx(0).epsilon(1e-9));
  const double t = 2 * std::sqrt(3.0);
  CHECK(more.better.value() == Approx(0.5 + t / (2 * std::sqrt(2 + t * t))));
  const auto less = cli::advantage_of(base, own, 0, SearchObjective::kP99Step);
  CHECK(less.gain->mean == Approx(-0.01));
  CHECK(less.better.value() == Approx(1 - more.better.value()));
}

TEST_CASE("an advantage is certain where no pair differs from another, and unknown of one") {
  const Samples base{{8, 0}, {8, 0}};
  const auto smaller = cli::advantage_of(base, {{6, 1}, {6, 1}}, 0, SearchObjective::kMemory);
  CHECK(smaller.better == 1.0);
  CHECK(smaller.gain->mean == 0.25);
  CHECK(smaller.gain->half_width == 0.0);
  CHECK(cli::advantage_of(base, base, 0, SearchObjective::kMemory).better == 0.5);
  const auto from_nothing =
      cli::advantage_of(base, {{6, 1}, {6, 1}}, 1, SearchObjective::kMovedBytes);
  CHECK_FALSE(from_nothing.gain.has_value());
  CHECK(from_nothing.better == 0.0);
  const auto one = cli::advantage_of({{8}}, {{6}}, 0, SearchObjective::kMemory);
  CHECK_FALSE(one.better.has_value());
  CHECK_FALSE(one.gain->half_width.has_value());
}

TEST_CASE("changes have the sign of the figure, and digits enough to be seen") {
  const auto text = [](double gain, std::optional<double> half_width, SearchObjective objective) {
    return cli::change_text(
        {.mean = 1,
         .gain = cli::Gain{.mean = gain, .standard_error = half_width, .half_width = half_width},
         .better = 0.9},
        objective);
  };
  CHECK(text(0.0123, 0.001, SearchObjective::kThroughput) == "+1.23 +- 0.10 %");
  CHECK(text(0.0123, 0.001, SearchObjective::kP99Step) == "-1.23 +- 0.10 %");
  CHECK(text(0.00004, 0.00001, SearchObjective::kThroughput) == "+0.0040 +- 0.0010 %");
  CHECK(text(0.25, 0.0, SearchObjective::kMemory) == "-25.0 %");
  CHECK(text(0.0, 0.0, SearchObjective::kMemory) == "=");
  CHECK(cli::probability_text(0.9999) == "over 99.9 %");
  CHECK(cli::probability_text(0.0001) == "below 0.1 %");
  CHECK(cli::probability_text(1) == "100.0 %");
  CHECK(cli::probability_text(0.975) == "97.5 %");
}

}  // namespace
}  // namespace eplb
