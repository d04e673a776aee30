#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "eplb/cli/command.hpp"
#include "eplb/cli/command_line.hpp"
#include "eplb/cli/option_values.hpp"
#include "eplb/core/load.hpp"
#include "eplb/core/shape.hpp"

namespace eplb::cli {

/// The EP group that recorded loads are placed on, as a command's line has it.
struct GroupOptions {
  std::int32_t rank_count = 0;
  std::int32_t redundant_slot_count = 0;
  std::int32_t node_count = 1;
  std::int32_t expert_group_count = 1;
  std::int32_t rows_per_rank = 0;  ///< Of a step, for the split by the token hash.

  /// With the layers and experts of the loads.
  [[nodiscard]] Shape shape_of(const RealLoadMatrix& window) const;

  /// As the production systems do, nodes that do not divide the ranks count as one.
  [[nodiscard]] std::int32_t usable_node_count() const;
};

/// --ranks, --redundant, --nodes and --groups.
[[nodiscard]] std::vector<OptionSpec> group_options();

/// Reads those, and --tokens-per-rank, whose help is each command's own.
[[nodiscard]] GroupOptions read_group_options(OptionValues& values);

/// Says so where the nodes count as one.
void warn_of_nodes(const GroupOptions& group, std::string_view command, const Streams& streams);

}  // namespace eplb::cli
