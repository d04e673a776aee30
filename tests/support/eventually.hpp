#pragma once

#include <chrono>
#include <thread>

namespace eplb::test {

/// Whether `holds()` comes true before a deadline that no healthy run comes near.
template <typename Condition>
[[nodiscard]] bool eventually(const Condition& holds) {
  constexpr std::chrono::seconds kDeadline(20);
  const auto end = std::chrono::steady_clock::now() + kDeadline;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return true;
}

}  // namespace eplb::test
