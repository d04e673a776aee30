#include "expected_layer_time.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "eplb/core/replica_choice.hpp"

namespace eplb {
namespace {

/// Forwards that are drawn. The mean over so many of a layer's time is known to about a tenth of a
/// percent, and a difference of two placements to less.
constexpr std::uint32_t kDrawCount = 16;

constexpr std::uint32_t kTableSize = 1U << 13U;

/// Above this a count is a rounded normal.
constexpr double kNormalFrom = 16;

/// A 64-bit hash of a number (SplitMix64, G. Steele and others).
constexpr std::uint64_t scrambled(std::uint64_t number) {
  std::uint64_t bits = (number + 1) * 0x9E3779B97F4A7C15U;
  bits = (bits ^ (bits >> 30U)) * 0xBF58476D1CE4E5B9U;
  bits = (bits ^ (bits >> 27U)) * 0x94D049BB133111EBU;
  return bits ^ (bits >> 31U);
}

/// The sum of eight bytes, brought to mean 0 and variance 1: close to normal as far as three
/// standard deviations, and exact arithmetic.
constexpr double normal_of(std::uint64_t bits) {
  constexpr double kMean = 8 * 127.5;
  constexpr double kDeviation = 209.02153;  // sqrt(8 (256^2 - 1) / 12)
  std::uint64_t sum = 0;
  for (std::uint32_t shift = 0; shift < 64; shift += 8) {
    sum += bits >> shift & 0xFFU;
  }
  return (static_cast<double>(sum) - kMean) / kDeviation;
}

struct Draws {
  std::array<double, kTableSize> normal = {};   ///< Standard normal.
  std::array<double, kTableSize> uniform = {};  ///< In [0, 1).
};

constexpr Draws make_draws() {
  Draws draws;
  for (std::uint32_t entry = 0; entry < kTableSize; ++entry) {
    draws.normal[entry] = normal_of(scrambled(2 * std::uint64_t{entry}));
    draws.uniform[entry] =
        static_cast<double>(scrambled(2 * std::uint64_t{entry} + 1) >> 11U) * 0x1.0p-53;
  }
  return draws;
}

constexpr Draws kDraws = make_draws();

/// exp(-value) by products alone, to a few parts in 10^4 for values up to kNormalFrom.
double exp_minus(double value) {
  constexpr int kDoublings = 20;
  double power = 1 - value * 0x1.0p-20;
  for (int doubling = 0; doubling < kDoublings; ++doubling) {
    power *= power;
  }
  return power;
}

/// Where a Poisson distribution first exceeds `uniform`, or has no more to speak of.
std::int64_t poisson(double expected, double uniform) {
  constexpr double kNegligible = 1e-9;
  double term = exp_minus(expected);
  double sum = term;
  std::int64_t count = 0;
  while (sum <= uniform && (static_cast<double>(count) < expected || term > kNegligible)) {
    ++count;
    term *= expected / static_cast<double>(count);
    sum += term;
  }
  return count;
}

/// A count with that mean; the same for the same key.
std::int64_t draw_count(double expected, std::uint32_t key) {
  const std::uint32_t entry = key % kTableSize;
  if (expected < kNormalFrom) {
    return poisson(expected, kDraws.uniform[entry]);
  }
  return std::llround(std::max(0.0, expected + std::sqrt(expected) * kDraws.normal[entry]));
}

}  // namespace

// Doubts are in the load of an expert, whichever its replicas; what each of them then gets is a
// count of its own, as of a Poisson process that is dealt out.
void ExpectedLayerTime::draw(const LayerPlacement& placement, const ExpectedTokens& tokens,
                             std::uint32_t draw) {
  constexpr std::uint32_t kReplicaStride = 0x9E3779B9U;
  const Eigen::RowVectorXd* doubt =
      tokens.doubts.empty() ? nullptr : &tokens.doubts[draw / 2 % tokens.doubts.size()];
  const double sign = draw % 2 == 0 ? 1 : -1;
  std::ranges::fill(next_replica_, 0U);
  for (std::int32_t slot = 0; slot < placement.slot_count(); ++slot) {
    const LogicalExpertId expert = placement.occupant(SlotId{slot});
    std::int64_t& drawn = tokens_per_slot_[static_cast<std::size_t>(slot)];
    if (expert == kNoExpert) {
      drawn = 0;
      continue;
    }
    double expected = tokens.by_expert[expert.index()];
    if (doubt != nullptr) {
      expected = std::max(0.0, expected + sign * (*doubt)(expert.value));
    }
    const std::uint32_t key = replica_salt(static_cast<std::uint32_t>(tokens.layer.value),
                                           static_cast<std::uint32_t>(expert.value)) +
                              draw;
    drawn = draw_count(expected / replica_counts_[expert.index()],
                       key + kReplicaStride * ++next_replica_[expert.index()]);
  }
}

double ExpectedLayerTime::slowest_rank_ns(const LayerPlacement& placement, double picks) const {
  const auto slots_per_rank = static_cast<std::size_t>(placement.slots_per_rank());
  const std::int32_t block_rows = block_rows_for(picks / placement.slot_count());
  double slowest_ns = 0;
  for (std::size_t first = 0; first < tokens_per_slot_.size(); first += slots_per_rank) {
    ExpertLayerFeatures features =
        features_of(std::span(tokens_per_slot_).subspan(first, slots_per_rank), block_rows);
    features.sent_rows = std::llround(picks / placement.rank_count());
    const ExpertLayerParts parts = expert_layer_parts(cost_, features);
    if (longest_expert_layer_ns(cost_, parts) > slowest_ns) {
      slowest_ns = std::max(slowest_ns, expert_layer_ns(cost_, parts));
    }
  }
  return slowest_ns;
}

double ExpectedLayerTime::ns(const LayerPlacement& placement, const ExpectedTokens& tokens) {
  replica_counts_ = placement.replica_counts();
  next_replica_.resize(replica_counts_.size());
  tokens_per_slot_.resize(static_cast<std::size_t>(placement.slot_count()));
  const double picks = std::accumulate(tokens.by_expert.begin(), tokens.by_expert.end(), 0.0);
  double sum_ns = 0;
  for (std::uint32_t index = 0; index < kDrawCount; ++index) {
    draw(placement, tokens, index);
    sum_ns += slowest_rank_ns(placement, picks);
  }
  return sum_ns / kDrawCount;
}

}  // namespace eplb
