#pragma once

#include <cstdint>
#include <string_view>

#include "eplb/core/policy.hpp"
#include "fresh_start.hpp"
#include "scenarios.hpp"

namespace eplb::placement {

/// What is levelled over ranks.
enum class Objective : std::uint8_t {
  kTokens,
  kCost,  ///< The cost model's terms (expert_work.hpp).
  kAuto   ///< The cost model's where it is known together with the tokens of a step, else tokens.
};

/// Prices are shares of the busiest rank's load: by how much it must fall for a move to pay. A
/// moved row pays its part of both.
struct RobustOptions {
  double price = 0;            ///< Of moving 1 % of a layer's slots.
  double rank_price = 0.9e-3;  ///< Of moving as many rows as a rank has slots.
  /// Share of the price that a second search from what serves is made at, which then gives back at
  /// the full price; 1 is none.
  double second_price_share = 1;
  Objective objective = Objective::kAuto;
  double step_tokens = 0;  ///< Tokens that an expert gets in a step, mean; 0: the problem's.
  ScenarioOptions scenarios = {};
  /// Placements from scratch that are searched from, besides the one that serves; the most
  /// promising ones, at most kFreshStartsMax.
  std::int32_t fresh_starts = 3;
  /// What it costs if all rows leave their NVLink domain, as a share of the busiest rank's load;
  /// with it copies of hot experts spread over domains. Of use where ranks take near replicas.
  double topology_price = 0;
  /// Share of all slots that one plan may move, spent where a row gains most.
  double max_moved_share = 1;
};

/// Its rows are dear, so that a plan stays for long and more change comes before the next one.
[[nodiscard]] constexpr RobustOptions frugal_options() {
  RobustOptions options;
  options.price = 0.3e-3;
  options.rank_price = 3.6e-3;
  options.second_price_share = 0.3;
  options.scenarios.reach = 4;
  return options;
}

/// Ours: minimises the smooth maximum of rank loads over what may come next (foresee), at a price a
/// moved row, by local search from what serves and from scratch. No rank holds an expert twice
/// unless it has more slots than there are experts. Loads of copies are taken as even, wherever
/// rows come from. Groups play no part, and domains only where leaving them has a price.
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
