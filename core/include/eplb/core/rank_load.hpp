#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "eplb/core/layer_shares.hpp"
#include "eplb/core/load.hpp"
#include "eplb/core/placement.hpp"
#include "eplb/core/replica_choice.hpp"

namespace eplb {

/// Share of an expert's tokens that each of its replicas gets; the shares of a count sum to 1.
class ReplicaShares {
 public:
  /// Every replica alike.
  [[nodiscard]] static ReplicaShares even();

  struct ChoiceOptions {
    ReplicaChoice choice = ReplicaChoice::kHash;
    std::int32_t rows_per_rank = 1;  ///< Rows of a step on each rank, at least 1.
    std::int32_t rank_count = 1;     ///< At least 1.
  };

  /// What `choice` yields when an expert's tokens fall on all rows of all ranks alike. The salted
  /// choice is counted for one expert's salt; another salt shifts shares by about 1 / rows.
  [[nodiscard]] static ReplicaShares of_choice(const ChoiceOptions& options);

  /// Shares for an expert with `replica_count` (at least 1) copies. Counted on first use and kept,
  /// so the span stays valid as long as this object.
  [[nodiscard]] std::span<const double> of(std::int32_t replica_count);

 private:
  [[nodiscard]] std::vector<double> count_shares(std::int32_t replica_count) const;

  bool even_ = true;
  ChoiceOptions options_;
  std::vector<std::vector<double>> by_count_;
};

/// Load on each rank, [layers, ranks], when the experts' load, [layers, experts], splits by
/// `shares` over the placement's replicas (replica k is the expert's k-th slot, ascending).
[[nodiscard]] RealLoadMatrix rank_loads(const Placement& placement, const RealLoadMatrix& load,
                                        ReplicaShares& shares);

/// The same when it splits by `shares`, one a layer.
[[nodiscard]] RealLoadMatrix rank_loads(const Placement& placement, const RealLoadMatrix& load,
                                        std::span<const LayerShares> shares);

}  // namespace eplb
