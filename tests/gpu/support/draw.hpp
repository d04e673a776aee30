#pragma once

#include <cstdint>

namespace eplb::gpu::test {

/// xorshift64* (S. Vigna, 2016): enough to scatter ids, the same on every machine.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15U + 0xD1B54A32D192ED03U) {
    state_ = state_ == 0 ? 1 : state_;
  }

  std::uint64_t bits() {
    state_ ^= state_ >> 12U;
    state_ ^= state_ << 25U;
    state_ ^= state_ >> 27U;
    return state_ * 0x2545F4914F6CDD1DU;
  }

  /// A number in [0, bound). Needs a positive bound.
  std::int32_t below(std::int32_t bound) {
    return static_cast<std::int32_t>((bits() >> 33U) % static_cast<std::uint32_t>(bound));
  }

  /// A number in [0, 1).
  double fraction() { return static_cast<double>(bits() >> 11U) * 0x1p-53; }

  bool chance(double probability) { return fraction() < probability; }

 private:
  std::uint64_t state_;
};

}  // namespace eplb::gpu::test
