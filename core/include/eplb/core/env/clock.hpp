#pragma once

#include <cstdint>

namespace eplb::env {

/// Time as the balancer sees it; never goes back.
class Clock {
 public:
  Clock() = default;
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;
  Clock(Clock&&) = delete;
  Clock& operator=(Clock&&) = delete;
  virtual ~Clock() = default;

  [[nodiscard]] virtual std::int64_t now_ns() const = 0;
};

}  // namespace eplb::env
