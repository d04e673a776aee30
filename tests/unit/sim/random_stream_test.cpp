// Goal: streams are independent and repeatable; integer draws have the right mean, variance and
// bounds on both sides of the switch from exact to normal. Method: many draws from a seeded stream
// against the closed forms, with tolerances of about five standard errors.
#include "eplb/sim/random_stream.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>

#include "seed.hpp"

namespace eplb::sim {
namespace {

struct Moments {
  double mean = 0;
  double variance = 0;
};

template <typename Draw>
Moments moments_of(int count, Draw draw) {
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < count; ++i) {
    const auto value = static_cast<double>(draw());
    sum += value;
    squares += value * value;
  }
  const double mean = sum / count;
  return {mean, squares / count - mean * mean};
}

/// Checks moments of `count` draws to about five standard errors.
void check_moments(const Moments& drawn, double mean, double variance, int count) {
  CHECK(std::abs(drawn.mean - mean) < 5 * std::sqrt(variance / count) + 1e-12);
  CHECK(std::abs(drawn.variance - variance) < 5 * variance * std::sqrt(3.0 / count) + 1e-12);
}

TEST_CASE("a stream depends on the seed and on its name, and on nothing else") {
  RandomStream a(1, "counts");
  RandomStream b(1, "counts");
  RandomStream other_name(1, "replicas");
  RandomStream other_seed(2, "counts");
  const std::uint64_t first = a.bits();
  CHECK(first == b.bits());
  CHECK(first != other_name.bits());
  CHECK(first != other_seed.bits());
}

TEST_CASE("the first numbers of a stream never change") {
  RandomStream stream(1, "counts");
  CHECK(stream.bits() == 4392444045467169006ULL);
  CHECK(stream.bits() == 14900136988484833974ULL);
}

TEST_CASE("below has no bias and stays below") {
  const std::uint64_t seed = test::run_seed();
  INFO(test::replay_hint(seed));
  RandomStream stream(seed, "test");
  std::array<int, 3> hits{};
  for (int i = 0; i < 30000; ++i) {
    ++hits[stream.below(3)];
  }
  for (const int hit : hits) {
    CHECK(std::abs(hit - 10000) < 5 * std::sqrt(30000 * 2.0 / 9));
  }
}

TEST_CASE("quick_normal has mean 0 and variance 1") {
  const std::uint64_t seed = test::run_seed();
  INFO(test::replay_hint(seed));
  RandomStream stream(seed, "test");
  constexpr int kDraws = 200000;
  check_moments(moments_of(kDraws, [&] { return stream.quick_normal(); }), 0, 1, kDraws);
}

TEST_CASE("binomial draws have the binomial's mean and variance") {
  const std::uint64_t seed = test::run_seed();
  INFO(test::replay_hint(seed));
  RandomStream stream(seed, "test");
  constexpr int kDraws = 40000;

  struct Case {
    std::int64_t trials;
    double probability;
  };

  for (const Case c : {Case{10, 0.3}, Case{1000, 0.002}, Case{1000, 0.998}, Case{50, 0.5},
                       Case{5000, 0.01}, Case{100000, 0.0001}, Case{100000, 0.4}}) {
    CAPTURE(c.trials);
    CAPTURE(c.probability);
    const double mean = static_cast<double>(c.trials) * c.probability;
    check_moments(
        moments_of(kDraws, [&] { return draw_binomial(stream, c.trials, c.probability); }), mean,
        mean * (1 - c.probability), kDraws);
  }
}

TEST_CASE("a small binomial has the exact distribution") {
  const std::uint64_t seed = test::run_seed();
  INFO(test::replay_hint(seed));
  RandomStream stream(seed, "test");
  constexpr int kDraws = 100000;
  std::array<int, 4> hits{};
  for (int i = 0; i < kDraws; ++i) {
    ++hits[static_cast<std::size_t>(draw_binomial(stream, 3, 0.25))];
  }
  const std::array<double, 4> expected{27.0 / 64, 27.0 / 64, 9.0 / 64, 1.0 / 64};
  for (std::size_t k = 0; k < 4; ++k) {
    CAPTURE(k);
    CHECK(std::abs(hits[k] - kDraws * expected[k]) <
          5 * std::sqrt(kDraws * expected[k] * (1 - expected[k])));
  }
}

TEST_CASE("binomial draws stay in range and take the sure cases") {
  RandomStream stream(3, "test");
  CHECK(draw_binomial(stream, 0, 0.5) == 0);
  CHECK(draw_binomial(stream, 9, 0) == 0);
  CHECK(draw_binomial(stream, 9, 1) == 9);
  for (int i = 0; i < 10000; ++i) {
    const std::int64_t drawn = draw_binomial(stream, 40, 0.5);
    REQUIRE(drawn >= 0);
    REQUIRE(drawn <= 40);
  }
}

TEST_CASE("hypergeometric draws have the hypergeometric's mean and variance") {
  const std::uint64_t seed = test::run_seed();
  INFO(test::replay_hint(seed));
  RandomStream stream(seed, "test");
  constexpr int kDraws = 40000;
  for (const Draws d : {Draws{10, 5, 4}, Draws{1000, 500, 300}, Draws{1000, 333, 20},
                        Draws{1000, 900, 950}, Draws{13824, 4608, 900}}) {
    CAPTURE(d.population);
    CAPTURE(d.marked);
    CAPTURE(d.drawn);
    const auto all = static_cast<double>(d.population);
    const double share = static_cast<double>(d.marked) / all;
    const auto drawn = static_cast<double>(d.drawn);
    check_moments(moments_of(kDraws, [&] { return draw_hypergeometric(stream, d); }), drawn * share,
                  drawn * share * (1 - share) * (all - drawn) / (all - 1), kDraws);
  }
}

TEST_CASE("drawing everything draws every marked one") {
  RandomStream stream(3, "test");
  for (int i = 0; i < 100; ++i) {
    REQUIRE(draw_hypergeometric(stream, {.population = 64, .marked = 21, .drawn = 64}) == 21);
  }
}

}  // namespace
}  // namespace eplb::sim
