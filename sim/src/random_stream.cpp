#include "eplb/sim/random_stream.hpp"

#include <algorithm>
#include <bit>
#include <boost/random/normal_distribution.hpp>
#include <boost/random/uniform_int_distribution.hpp>
#include <cmath>
#include <numeric>

#include "eplb/core/digest.hpp"

namespace eplb::sim {
namespace {

/// Below this many expected successes a count is drawn exactly.
constexpr double kExactMeanMax = 16;

/// base^exponent by squaring: only multiplications, so the same on every machine.
double integer_power(double base, std::int64_t exponent) {
  double power = 1;
  for (; exponent > 0; exponent /= 2) {
    power *= exponent % 2 == 1 ? base : 1;
    base *= base;
  }
  return power;
}

std::int64_t rounded_normal(RandomStream& random, double mean, double variance,
                            std::int64_t count_max) {
  const double value = mean + std::sqrt(variance) * random.quick_normal();
  return std::clamp(static_cast<std::int64_t>(std::floor(value + 0.5)), std::int64_t{0}, count_max);
}

/// As draw_binomial, for a probability in (0, 1/2].
std::int64_t draw_rare_binomial(RandomStream& random, std::int64_t trials, double probability) {
  const auto count = static_cast<double>(trials);
  const double mean = count * probability;
  if (mean >= kExactMeanMax) {
    return rounded_normal(random, mean, mean * (1 - probability), trials);
  }
  const double odds = probability / (1 - probability);
  double mass = integer_power(1 - probability, trials);
  double left = random.uniform();
  std::int64_t successes = 0;
  while (left >= mass && successes < trials) {
    left -= mass;
    ++successes;
    const auto done = static_cast<double>(successes);
    mass *= odds * (count - done + 1) / done;
  }
  return successes;
}

/// As draw_hypergeometric, where at most half are marked and at most half are drawn.
std::int64_t draw_rare_hypergeometric(RandomStream& random, Draws draws) {
  const auto all = static_cast<double>(draws.population);
  const auto fewer = static_cast<double>(std::min(draws.marked, draws.drawn));
  const auto more = static_cast<double>(std::max(draws.marked, draws.drawn));
  const std::int64_t count_max = std::min(draws.marked, draws.drawn);
  const double mean = fewer * more / all;
  if (mean >= kExactMeanMax) {
    const double variance = mean * (1 - more / all) * (all - fewer) / (all - 1);
    return rounded_normal(random, mean, variance, count_max);
  }
  double mass = 1;
  for (std::int64_t i = 0; i < count_max; ++i) {
    mass *= (all - more - static_cast<double>(i)) / (all - static_cast<double>(i));
  }
  double left = random.uniform();
  std::int64_t hits = 0;
  while (left >= mass && hits < count_max) {
    left -= mass;
    const auto done = static_cast<double>(hits);
    mass *= (more - done) * (fewer - done) / ((done + 1) * (all - more - fewer + done + 1));
    ++hits;
  }
  return hits;
}

}  // namespace

RandomStream::RandomStream(std::uint64_t seed, std::string_view name)
    : engine_(digest_of(name, seed)) {}

std::uint64_t RandomStream::below(std::uint64_t bound) {
  return boost::random::uniform_int_distribution<std::uint64_t>(0, bound - 1)(engine_);
}

double RandomStream::normal() {
  return boost::random::normal_distribution<double>()(engine_);
}

double RandomStream::quick_normal() {
  // 64 fair bits have variance 16, the smoothing adds 1/12.
  constexpr double kScale = 4.010403;
  const int set_bits = std::popcount(bits());
  return (static_cast<double>(set_bits - 32) + uniform() - 0.5) / kScale;
}

std::int64_t draw_binomial(RandomStream& random, std::int64_t trials, double probability) {
  if (trials <= 0 || probability <= 0) {
    return 0;
  }
  if (probability >= 1) {
    return trials;
  }
  const bool count_failures = probability > 0.5;
  const double rarer = count_failures ? 1 - probability : probability;
  const std::int64_t drawn = draw_rare_binomial(random, trials, rarer);
  return count_failures ? trials - drawn : drawn;
}

std::int64_t draw_hypergeometric(RandomStream& random, Draws draws) {
  if (draws.marked <= 0 || draws.drawn <= 0) {
    return 0;
  }
  // Counting what is not marked, or not drawn, is the same draw with smaller numbers.
  const std::int64_t marked = std::min(draws.marked, draws.population - draws.marked);
  const std::int64_t drawn = std::min(draws.drawn, draws.population - draws.drawn);
  std::int64_t hits = draw_rare_hypergeometric(random, {draws.population, marked, drawn});
  if (drawn != draws.drawn) {
    hits = marked - hits;
  }
  if (marked != draws.marked) {
    hits = draws.drawn - hits;
  }
  return hits;
}

void draw_from_parts(RandomStream& random, std::span<const std::int64_t> parts, std::int64_t drawn,
                     std::span<std::int64_t> from) {
  std::int64_t population = std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
  std::int64_t left = drawn;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const Draws draws{.population = population, .marked = parts[part], .drawn = left};
    const std::int64_t others = population - parts[part];
    from[part] = std::clamp(draw_hypergeometric(random, draws),
                            std::max<std::int64_t>(0, left - others), std::min(left, parts[part]));
    population = others;
    left -= from[part];
  }
}

}  // namespace eplb::sim
