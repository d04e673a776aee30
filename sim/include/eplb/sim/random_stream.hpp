#pragma once

#include <boost/random/mersenne_twister.hpp>
#include <cstdint>
#include <span>
#include <string_view>

namespace eplb::sim {

/// Random numbers of one part of the simulation. Streams are forked from the run's seed by name, so
/// that a draw more in one part does not shift the numbers of another.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::string_view name);

  [[nodiscard]] std::uint64_t bits() { return engine_(); }

  /// In [0, 1), 53 bits.
  [[nodiscard]] double uniform() { return static_cast<double>(bits() >> 11U) * 0x1.0p-53; }

  /// In [0, bound), without bias; `bound` at least 1.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound);

  /// Standard normal, exact (Boost's ziggurat): for weights of a distribution.
  [[nodiscard]] double normal();

  /// Nearly standard normal from two draws: the bits set in 64 fair ones, smoothed and scaled.
  /// Mean 0, variance 1, tails end at 8. For noise on counts, where it is many times cheaper.
  [[nodiscard]] double quick_normal();

 private:
  boost::random::mt19937_64 engine_;
};

/// Number of successes among `trials` of probability `probability`: exact by inversion where the
/// expected number is small, else a rounded normal with the right mean and variance.
[[nodiscard]] std::int64_t draw_binomial(RandomStream& random, std::int64_t trials,
                                         double probability);

/// A population of which some are marked, and how many of it are drawn without replacement.
struct Draws {
  std::int64_t population;
  std::int64_t marked;
  std::int64_t drawn;
};

/// Marked ones among the drawn; exact or rounded normal as draw_binomial.
[[nodiscard]] std::int64_t draw_hypergeometric(RandomStream& random, Draws draws);

/// Of `drawn` of a population without replacement, those from each of its `parts`, into `from`: a
/// chain of such draws, so that they sum exactly. No more are drawn than there are.
void draw_from_parts(RandomStream& random, std::span<const std::int64_t> parts, std::int64_t drawn,
                     std::span<std::int64_t> from);

}  // namespace eplb::sim
