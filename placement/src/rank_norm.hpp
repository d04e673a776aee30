#pragma once

namespace eplb::placement {

/// The search minds the 64-norm of rank loads in place of their maximum: smooth enough that
/// relieving any of several hot ranks counts, and near enough that little else does. A power of
/// two, so that squarings and square roots do, which give the same bits on every machine.
inline constexpr int kNormSquarings = 6;
inline constexpr int kNormExponent = 1 << kNormSquarings;

/// `load` to the power of the norm.
[[nodiscard]] inline double norm_power(double load) {
  for (int squaring = 0; squaring < kNormSquarings; ++squaring) {
    load *= load;
  }
  return load;
}

}  // namespace eplb::placement
