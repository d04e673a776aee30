#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "reading.hpp"

namespace eplb::config {

/// If it is broken and all keys are sound: rejects the first of them, which the message is about,
/// at the place of the one that was written last.
void rule(bool broken, const Keys& keys, const std::string& message, Reading& reading);

/// A rule whose message is about all keys alike: rejects the one that was written last.
void joint_rule(bool broken, const Keys& keys, const std::string& message, Reading& reading);

/// `must be at most run.steps (8), got 9`.
[[nodiscard]] std::string at_most(std::string_view key, std::int64_t allowed, std::int64_t got);

}  // namespace eplb::config
