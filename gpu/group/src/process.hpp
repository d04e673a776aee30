#pragma once

#include <cstdint>

#include "eplb/group/descriptor.hpp"

namespace eplb::group {

/// A descriptor that becomes readable when the process ends; empty, with errno set, if there is no
/// such process.
[[nodiscard]] Descriptor open_process(std::int64_t pid);

/// A counter that a thread can be woken with.
[[nodiscard]] Descriptor make_wake_up();
void wake_up(const Descriptor& wake_up);

}  // namespace eplb::group
