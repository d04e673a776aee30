#include "group_options.hpp"

#include <fmt/core.h>

namespace eplb::cli {

Shape GroupOptions::shape_of(const RealLoadMatrix& window) const {
  return {.layer_count = static_cast<std::int32_t>(window.rows()),
          .expert_count = static_cast<std::int32_t>(window.cols()),
          .redundant_slot_count = redundant_slot_count,
          .rank_count = rank_count,
          .expert_group_count = expert_group_count};
}

std::int32_t GroupOptions::usable_node_count() const {
  return rank_count % node_count == 0 ? node_count : 1;
}

std::vector<OptionSpec> group_options() {
  return {{.name = "ranks", .value_name = "N", .help = "ranks of the expert-parallel group"},
          {.name = "redundant",
           .value_name = "R",
           .help = "slots beyond one for each expert; slots must divide over the ranks"},
          {.name = "nodes",
           .value_name = "M",
           .help = "hosts that the ranks are on, each an NVLink domain of its own (1)"},
          {.name = "groups",
           .value_name = "K",
           .help = "groups of experts that the router limits itself to (1)"}};
}

GroupOptions read_group_options(OptionValues& values) {
  constexpr std::int32_t kRowsMax = 1 << 20;
  GroupOptions group;
  group.rank_count = values.integer("ranks", {.min = 1});
  group.redundant_slot_count = values.integer("redundant", {.min = 0, .max = kMaxRedundantSlots});
  group.node_count = values.integer("nodes", {.min = 1, .fallback = 1});
  group.expert_group_count = values.integer("groups", {.min = 1, .fallback = 1});
  group.rows_per_rank =
      values.integer("tokens-per-rank", {.min = 1, .max = kRowsMax, .fallback = 128});
  return group;
}

void warn_of_nodes(const GroupOptions& group, std::string_view command, const Streams& streams) {
  if (group.usable_node_count() != group.node_count) {
    print_warning(streams, command,
                  fmt::format("{} ranks cannot be divided over {} nodes; planning for 1 node",
                              group.rank_count, group.node_count));
  }
}

}  // namespace eplb::cli
