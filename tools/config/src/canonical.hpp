#pragma once

#include <optional>
#include <string>

#include "eplb/placement/options.hpp"
#include "eplb/sim/options.hpp"
#include "eplb/sim/program/program.hpp"

namespace eplb::config {

/// The scenario with every key, in the order of the schema, and its search if it has one. Free
/// texts are left out.
[[nodiscard]] std::string canonical_yaml(const sim::Scenario& scenario,
                                         const std::optional<placement::SearchOptions>& search);

/// The same of a program, on the scenario's hardware and with its seed.
[[nodiscard]] std::string canonical_yaml(const sim::Program& program,
                                         const sim::Scenario& scenario);

}  // namespace eplb::config
