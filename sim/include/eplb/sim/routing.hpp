#pragma once

#include <cstdint>
#include <vector>

#include "eplb/core/load.hpp"
#include "eplb/core/options.hpp"
#include "eplb/sim/options.hpp"
#include "eplb/sim/random_stream.hpp"

namespace eplb::sim {

/// Where tokens want to go: for each step and layer, every expert's share of all picks.
class RoutingModel {
 public:
  RoutingModel(const ModelOptions& model, WorkloadOptions workload, std::uint64_t seed);

  /// Shares of the picks of `step`, [layers, experts], each row summing to 1 but for rounding, no
  /// share above 1 / top_k (a row picks an expert at most once). Steps are asked for in order.
  [[nodiscard]] const RealLoadMatrix& shares_at(std::int64_t step);

  /// Grows whenever shares_at returned something new.
  [[nodiscard]] std::int64_t version() const { return version_; }

 private:
  [[nodiscard]] bool base_changes_at(std::int64_t step);
  [[nodiscard]] bool drift_changes_at(std::int64_t step);
  void walk(const WalkDrift& drift, std::int64_t every_steps);
  void deal_anew();
  void rebuild_shares();

  std::int32_t expert_count_;
  std::int32_t top_k_;
  WorkloadOptions workload_;
  RandomStream drift_random_;
  RealLoadMatrix base_;                           ///< Weights of the routing alone.
  RealLoadMatrix log_factors_;                    ///< Logarithm of what drift multiplies them by.
  std::vector<std::vector<std::int32_t>> dealt_;  ///< [layer][expert] -> column of base_.
  RealLoadMatrix shares_;
  std::size_t window_or_phase_ = 0;
  std::int64_t phase_end_step_ = 0;
  std::int64_t version_ = 0;
};

/// Brings weights to shares that sum to 1 with none above `share_max`: what exceeds it goes to the
/// others in proportion. All-zero weights become uniform. `share_max` * size must be at least 1.
void normalise_shares(Eigen::Ref<Eigen::RowVectorXd> weights, double share_max);

}  // namespace eplb::sim
