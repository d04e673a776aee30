#pragma once

#include <cstdint>
#include <string_view>

#include "eplb/core/policy.hpp"
#include "fresh_start.hpp"
#include "scenarios.hpp"

namespace eplb::placement {

/// The price of `frugal`.
inline constexpr double kFrugalPrice = 5e-3;

struct RobustOptions {
  /// By which share the busiest rank's load must fall for as many rows to be moved as a rank has
  /// slots. So a row costs 1 / slots_per_rank of it, in every layer alike.
  double price = 1e-3;
  ScenarioOptions scenarios = {};
  /// Placements from scratch that are searched from, besides the one that serves; the most
  /// promising ones, at most kFreshStartsMax.
  std::int32_t fresh_starts = 3;
  /// Share of all slots that one plan may move, spent on the layers where a row gains most.
  double max_moved_share = 1;
};

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
