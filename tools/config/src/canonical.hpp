#pragma once

#include <string>

#include "eplb/sim/options.hpp"

namespace eplb::config {

/// The scenario with every key, in the order of the schema. Free texts are left out.
[[nodiscard]] std::string canonical_yaml(const sim::Scenario& scenario);

}  // namespace eplb::config
