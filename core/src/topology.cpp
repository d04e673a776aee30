#include "eplb/core/topology.hpp"

namespace eplb {

Result<Topology> Topology::create(const Options& options) {
  if (options.rank_count < 1 || options.ranks_per_node < 1 || options.ranks_per_domain < 1) {
    return fail(ErrorCode::kInvalidArgument,
                "ranks, ranks per node and ranks per domain must be at least 1");
  }
  Topology topology;
  for (std::int32_t rank = 0; rank < options.rank_count; ++rank) {
    topology.node_of_rank_.push_back(NodeId{rank / options.ranks_per_node});
    topology.domain_of_rank_.push_back(DomainId{rank / options.ranks_per_domain});
  }
  topology.node_count_ = topology.node_of_rank_.back().value + 1;
  topology.domain_count_ = topology.domain_of_rank_.back().value + 1;
  return topology;
}

}  // namespace eplb
