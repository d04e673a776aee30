#pragma once

#include "eplb/sim/options.hpp"
#include "reading.hpp"
#include "section.hpp"

namespace eplb::config {

/// Reads the key `schedule` of a routing section. The routing's domains are known, unless their
/// file was rejected; then only the form of the mixes is checked.
void read_schedule(const Section& routing_section, sim::DomainsRouting& routing, Reading& reading);

}  // namespace eplb::config
