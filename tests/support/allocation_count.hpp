#pragma once

#include <cstdint>

namespace eplb::test {

/// Calls of operator new since the program began, on all threads.
[[nodiscard]] std::int64_t allocation_count();

}  // namespace eplb::test
