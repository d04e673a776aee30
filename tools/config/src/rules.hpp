#pragma once

#include "eplb/sim/options.hpp"
#include "reading.hpp"

namespace eplb::config {

/// Rules between keys. A rule whose keys are not all sound is left out: it would only repeat what
/// is known to be wrong.
void check_rules(const sim::Scenario& scenario, Reading& reading);

}  // namespace eplb::config
