#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace eplb::group {

/// The time of all processes of a host: CLOCK_MONOTONIC, which they share.
[[nodiscard]] inline std::int64_t monotonic_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// A point in time that no wait goes beyond.
class Deadline {
 public:
  [[nodiscard]] static Deadline after_ms(std::int64_t ms) {
    return Deadline(monotonic_ns() + ms * kNsPerMs);
  }

  [[nodiscard]] bool passed() const { return monotonic_ns() >= end_ns_; }

  /// For poll(2): rounded up, so that a wait of less than a millisecond does not spin; 0 once it
  /// has passed; at most `limit_ms`.
  [[nodiscard]] int left_ms(std::int64_t limit_ms = 1'000'000) const {
    const std::int64_t left_ns = std::max<std::int64_t>(end_ns_ - monotonic_ns(), 0);
    return static_cast<int>(std::min((left_ns + kNsPerMs - 1) / kNsPerMs, limit_ms));
  }

 private:
  static constexpr std::int64_t kNsPerMs = 1'000'000;

  explicit Deadline(std::int64_t end_ns) : end_ns_(end_ns) {}

  std::int64_t end_ns_;
};

}  // namespace eplb::group
