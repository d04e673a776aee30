#pragma once

#include "eplb/sim/options.hpp"
#include "reading.hpp"

namespace eplb::config {

/// Rules about the target and its drafts: each in itself, beside the traffic and the hardware, and
/// each draft beside the target.
void check_models(const sim::Scenario& scenario, Reading& reading);

}  // namespace eplb::config
