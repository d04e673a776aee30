#pragma once

#include "lookup.hpp"

namespace eplb::config {

inline constexpr IncludeKind kHardwareFiles = {
    .noun = "hardware", .folder = "hardware", .has_name = false};

}  // namespace eplb::config
