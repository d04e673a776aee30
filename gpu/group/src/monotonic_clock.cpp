#include "eplb/group/monotonic_clock.hpp"

#include <ctime>

namespace eplb::group {

std::int64_t MonotonicClock::now_ns() const {
  constexpr std::int64_t kNsPerSecond = 1'000'000'000;
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kNsPerSecond + now.tv_nsec;
}

}  // namespace eplb::group
