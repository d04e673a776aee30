#pragma once

#include <cstdint>
#include <string_view>

#include "eplb/core/policy.hpp"
#include "fresh_start.hpp"
#include "scenarios.hpp"

namespace eplb::placement {

/// Prices are shares of the busiest rank's load: by how much it must fall for a move to pay. A
/// moved row costs price + rank_price / slots_per_rank.
struct RobustOptions {
  double price = 0;          ///< Of a moved row.
  double rank_price = 1e-3;  ///< Of as many moved rows as a rank has slots.
  ScenarioOptions scenarios = {};
  /// Placements from scratch that are searched from, besides the one that serves; the most
  /// promising ones, at most kFreshStartsMax.
  std::int32_t fresh_starts = 3;
  /// Share of all slots that one plan may move, spent on the layers where a row gains most.
  double max_moved_share = 1;
};

/// What `frugal` asks for a row.
inline constexpr double kFrugalPrice = 1.2e-3;

/// Ours: minimises the smooth maximum of rank loads over what may come next (foresee), at a price a
/// moved row, by local search from what serves and from scratch. No rank holds an expert twice
/// unless it has more slots than there are experts. Groups and nodes play no part.
class RobustPolicy final : public PlacementPolicy {
 public:
  RobustPolicy(std::string_view name, const RobustOptions& options)
      : name_(name), options_(options) {}

  [[nodiscard]] std::string_view name() const override { return name_; }

  [[nodiscard]] Result<Placement> place(const PolicyProblem& problem) const override;

 private:
  std::string_view name_;
  RobustOptions options_;
};

}  // namespace eplb::placement
