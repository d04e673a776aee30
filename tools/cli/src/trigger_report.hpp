#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <span>

#include "eplb/core/balancer.hpp"
#include "eplb/sim/simulation.hpp"

namespace eplb::cli {

/// What the trigger made of a rearrangement that it was asked about: layers that migrate and that
/// stay, and what was predicted of them, over the horizon.
[[nodiscard]] nlohmann::ordered_json trigger_json(const Rearrangement& rearrangement);

/// A table of the first rearrangements that the trigger was asked about, and the sum of all;
/// nothing where there was no trigger.
void print_trigger(std::span<const sim::RearrangementReport> reports, std::ostream& out);

}  // namespace eplb::cli
