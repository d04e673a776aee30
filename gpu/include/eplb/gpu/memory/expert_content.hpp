#pragma once

// Content that says whose it is, and digests of content: the same arithmetic on host and device.

#include <cstdint>

#include "eplb/core/replica_choice.hpp"

namespace eplb::gpu {

/// SplitMix64's finalizer (Steele, Lea and Flood, 2014): every bit of the input moves half the bits
/// of the output.
[[nodiscard]] EPLB_HOST_DEVICE constexpr std::uint64_t mixed(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30U)) * 0xBF58476D1CE4E5B9U;
  bits = (bits ^ (bits >> 27U)) * 0x94D049BB133111EBU;
  return bits ^ (bits >> 31U);
}

/// Whose content a tensor's row has.
struct ContentKey {
  std::uint32_t layer = 0;
  std::uint32_t expert = 0;
  std::uint32_t tensor = 0;
};

[[nodiscard]] EPLB_HOST_DEVICE constexpr std::uint64_t content_seed(const ContentKey& key) {
  const std::uint64_t expert = mixed((std::uint64_t{key.layer} << 32U) | key.expert);
  return mixed(expert + 0x9E3779B97F4A7C15U * (key.tensor + std::uint64_t{1}));
}

/// Bytes 8i to 8i + 7 of the row, little-endian; a row's last word is cut where the row ends.
[[nodiscard]] EPLB_HOST_DEVICE constexpr std::uint64_t content_word(std::uint64_t seed,
                                                                    std::uint64_t index) {
  return mixed(seed + 0x9E3779B97F4A7C15U * index);
}

/// What word `index` of tensor `tensor` adds to its row's digest. Digests are sums modulo 2^64, so
/// that neither the launch nor the order of threads matters; the position goes in, so that words
/// that have changed places show.
[[nodiscard]] EPLB_HOST_DEVICE constexpr std::uint64_t digest_term(std::uint64_t word,
                                                                   std::uint64_t tensor,
                                                                   std::uint64_t index) {
  const std::uint64_t place = (tensor << 48U) + index;
  return mixed(word ^ mixed(place + 0x632BE59BD9B4E019U));
}

}  // namespace eplb::gpu
