#pragma once

#include <cstdint>
#include <vector>

#include "eplb/core/ids.hpp"
#include "eplb/core/result.hpp"

namespace eplb {

/// Which ranks share a host and which share an NVLink domain.
class Topology {
 public:
  struct Options {
    std::int32_t rank_count = 1;
    std::int32_t ranks_per_node = 1;    ///< Ranks are node-major; the last node may be partly used.
    std::int32_t ranks_per_domain = 1;  ///< At least one node's ranks in practice, not required.
  };

  /// Consecutive ranks fill nodes and domains. kInvalidArgument unless all counts are positive.
  [[nodiscard]] static Result<Topology> create(const Options& options);

  [[nodiscard]] std::int32_t rank_count() const {
    return static_cast<std::int32_t>(node_of_rank_.size());
  }

  [[nodiscard]] std::int32_t node_count() const { return node_count_; }

  [[nodiscard]] std::int32_t domain_count() const { return domain_count_; }

  [[nodiscard]] NodeId node_of(RankId rank) const { return node_of_rank_[rank.index()]; }

  [[nodiscard]] DomainId domain_of(RankId rank) const { return domain_of_rank_[rank.index()]; }

  /// Nodes that a hierarchical policy may pack into: the node count where it divides the ranks,
  /// else 1, as the reference falls back (eplb-semantics 3.3).
  [[nodiscard]] std::int32_t packing_node_count() const {
    return rank_count() % node_count_ == 0 ? node_count_ : 1;
  }

 private:
  Topology() = default;

  std::vector<NodeId> node_of_rank_;
  std::vector<DomainId> domain_of_rank_;
  std::int32_t node_count_ = 0;
  std::int32_t domain_count_ = 0;
};

}  // namespace eplb
