#pragma once

#include <cstdint>

#include "eplb/sim/durations.hpp"
#include "eplb/sim/options.hpp"

namespace eplb::sim {

[[nodiscard]] inline bool covers(const FaultSpan& span, std::int64_t now_ns) {
  return ns_of_ms(span.at_ms) <= now_ns && (!span.until_ms || now_ns < ns_of_ms(*span.until_ms));
}

}  // namespace eplb::sim
