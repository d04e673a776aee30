#pragma once

#include <cstdint>

#include "eplb/core/env/clock.hpp"

namespace eplb::group {

/// CLOCK_MONOTONIC in ns: the same on every thread and process of a host, as the board needs it.
class MonotonicClock final : public env::Clock {
 public:
  [[nodiscard]] std::int64_t now_ns() const override;
};

}  // namespace eplb::group
