#pragma once

#include <string>

#include "eplb/sim/options.hpp"
#include "eplb/sim/program/program.hpp"

namespace eplb::config {

/// The scenario with every key, in the order of the schema. Free texts are left out.
[[nodiscard]] std::string canonical_yaml(const sim::Scenario& scenario);

/// The same of a program, on the scenario's hardware and with its seed.
[[nodiscard]] std::string canonical_yaml(const sim::Program& program,
                                         const sim::Scenario& scenario);

}  // namespace eplb::config
