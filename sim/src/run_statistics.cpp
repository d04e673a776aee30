#include "run_statistics.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace eplb::sim {
namespace {

constexpr double kMsPerNs = 1e-6;

/// Nearest-rank percentile of sorted values, in ms.
double percentile_ms(const std::vector<std::int64_t>& sorted_ns, std::size_t percent) {
  const std::size_t rank = (sorted_ns.size() * percent + 99) / 100;
  return static_cast<double>(sorted_ns[std::max<std::size_t>(rank, 1) - 1]) * kMsPerNs;
}

}  // namespace

void RunStatistics::start_forward(std::int64_t now_ns, const Forward& forward) {
  in_step_ = true;
  step_start_ns_ = now_ns;
  undisturbed_ns_ = forward.expert_layers_ns + forward.others_ns + forward.balancer_ns;
  balancer_ns_ += forward.balancer_ns;
  expert_layers_ns_ += forward.expert_layers_ns;
  arrival_ns_ += forward.arrival_ns;
  others_ns_ += forward.others_ns;
  balancedness_.add(forward.balancedness.value);
  min_layer_.add(forward.balancedness.min_layer);
  if (forward.exact_split.has_value()) {
    exact_split_.add(*forward.exact_split);
  }
  if (forward.network_share.has_value()) {
    network_share_.add(*forward.network_share);
  }
  if (!any_commit_) {
    before_.add(forward.balancedness.value);
  }
  if (any_rearrangement_) {
    after_.add(forward.balancedness.value);
  }
}

void RunStatistics::end_step(std::int64_t now_ns, const Gap& gap) {
  const std::int64_t free_ns = std::max<std::int64_t>(0, now_ns - forward_end_ns_ - gap.held_ns);
  const std::int64_t late_ns = std::min(gap.late_ns, free_ns);
  const std::int64_t commit_ns = free_ns - late_ns;
  hold_count_ += gap.held_ns > 0 ? 1 : 0;
  hold_ns_ += gap.held_ns;
  idle_ns_ += late_ns;
  slowed_ns_ += std::max<std::int64_t>(0, forward_end_ns_ - step_start_ns_ - undisturbed_ns_);
  commit_count_ += commit_ns > 0 ? 1 : 0;
  commit_ns_ += commit_ns;
  step_ns_.push_back(now_ns - step_start_ns_);
  in_step_ = false;
}

void RunStatistics::start_over() {
  RunStatistics fresh;
  fresh.steps_before_ = step_count();
  fresh.any_commit_ = any_commit_;
  fresh.any_rearrangement_ = any_rearrangement_;
  *this = std::move(fresh);
}

SimulationResult RunStatistics::summary() const {
  SimulationResult result;
  result.steps = static_cast<std::int64_t>(step_ns_.size());
  result.simulated_ns = std::accumulate(step_ns_.begin(), step_ns_.end(), std::int64_t{0});
  std::vector<std::int64_t> sorted = step_ns_;
  std::ranges::sort(sorted);
  const auto steps = static_cast<double>(result.steps);
  result.step = {.mean_ms = static_cast<double>(result.simulated_ns) * kMsPerNs / steps,
                 .p50_ms = percentile_ms(sorted, 50),
                 .p99_ms = percentile_ms(sorted, 99)};
  result.breakdown.mega_moe_ms = static_cast<double>(expert_layers_ns_) * kMsPerNs / steps;
  result.breakdown.arrival_ms = static_cast<double>(arrival_ns_) * kMsPerNs / steps;
  result.breakdown.others_ms = static_cast<double>(others_ns_) * kMsPerNs / steps;
  result.breakdown.idle_ms = static_cast<double>(idle_ns_) * kMsPerNs / steps;
  result.breakdown.eplb_ms =
      static_cast<double>(hold_ns_ + commit_ns_ + slowed_ns_ + balancer_ns_) * kMsPerNs / steps;
  result.balancedness = {.mean = balancedness_.value().value_or(0),
                         .min_layer = min_layer_.value().value_or(0),
                         .before = before_.value(),
                         .after = after_.value(),
                         .exact_split = exact_split_.value()};
  result.network_share = network_share_.value();
  result.hold_count = hold_count_;
  result.hold_ns = hold_ns_;
  result.commit_count = commit_count_;
  result.commit_ns = commit_ns_;
  result.slowed_ns = slowed_ns_;
  result.balancer_kernels_ns = balancer_ns_;
  return result;
}

}  // namespace eplb::sim
