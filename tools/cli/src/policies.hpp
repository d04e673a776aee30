#pragma once

#include "eplb/placement/policy_registry.hpp"

namespace eplb::cli {

/// What --policy and eplb.policy may name: the library's policies, and `program`, which is
/// anybody's.
[[nodiscard]] placement::PolicyRegistry known_policies();

}  // namespace eplb::cli
