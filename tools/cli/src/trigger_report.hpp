#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <span>

#include "eplb/core/balancer.hpp"
#include "eplb/sim/simulation.hpp"

namespace eplb::cli {

/// What the trigger made of a rearrangement: layers that stay, predicted gains and prices; null
/// where there was no trigger.
[[nodiscard]] nlohmann::ordered_json trigger_json(const Rearrangement& rearrangement);

/// A table of the first rearrangements that the trigger was asked about, and the sum of all;
/// nothing where there was no trigger.
void print_trigger(std::span<const sim::RearrangementReport> reports, std::ostream& out);

}  // namespace eplb::cli
