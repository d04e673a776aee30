#include "score.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "eplb/core/balancedness.hpp"
#include "eplb/core/learnt_shares.hpp"
#include "eplb/core/nearest_load.hpp"
#include "eplb/core/placement.hpp"
#include "eplb/core/rank_load.hpp"
#include "eplb/placement/bounds.hpp"
#include "eplb/placement/registry.hpp"
#include "plan_evaluation.hpp"

namespace eplb::cli {
namespace {

PolicyProblem problem_at(const ScoreTask& task, std::size_t newest, const Placement* current) {
  return {.shape = task.shape,
          .topology = task.topology,
          .history = task.windows.first(newest + 1),
          .window_part_count = static_cast<std::int32_t>(kPlannedWindows),
          .current = current,
          .costs = {}};
}

/// Sums over plans that a score is made of.
class ScoreSums {
 public:
  explicit ScoreSums(const ScoreTask& task)
      : task_(task),
        even_(ReplicaShares::even()),
        // The published hash knows no rank, so one rank's rows have the shares of all.
        hashed_(ReplicaShares::of_choice({.choice = ReplicaChoice::kHash,
                                          .rows_per_rank = task.rows_per_rank,
                                          .rank_count = 1})) {}

  /// The window served under a placement; one without load says nothing of it.
  Result<void> add_window(const Placement& placement, const std::vector<LayerShares>& shares,
                          const RealLoadMatrix& load) {
    if (load.sum() == 0) {
      return {};
    }
    const RealLoadMatrix even_loads = rank_loads(placement, load, even_);
    const auto regret = regret_of(even_loads, load, task_.shape);
    if (!regret) {
      return tl::unexpected(regret.error());
    }
    const auto bound_split = placement::bound_split(load, placement);
    if (!bound_split) {
      return tl::unexpected(bound_split.error());
    }
    const auto layers = static_cast<double>(load.rows());
    sums_.balancedness_shares += balancedness(rank_loads(placement, load, shares)).value;
    sums_.balancedness_exact += load.sum() / task_.shape.rank_count / (*bound_split * layers);
    if (task_.topology.domain_count() > 1) {
      const NearestLoad nearest = nearest_load(placement, load, task_.topology);
      sums_.balancedness_nearest += balancedness(nearest.rank_loads).value;
      sums_.network_share += nearest.network_share;
    }
    const double even = balancedness(even_loads).value;
    const double hashed = balancedness(rank_loads(placement, load, hashed_)).value;
    sums_.worst = served_ == 0 ? even : std::min(sums_.worst, even);
    sums_.worst_hashed = served_ == 0 ? hashed : std::min(sums_.worst_hashed, hashed);
    sums_.balancedness += even;
    sums_.balancedness_hashed += hashed;
    sums_.regret += regret->regret;
    ++served_;
    return {};
  }

  void add_plan(const Placement& before, const Placement& after, double plan_ms) {
    const double layers = std::max(task_.shape.layer_count, 1);
    if (plans_ > 0) {
      sums_.moved += static_cast<double>(moved_expert_count(before, after)) /
                     (layers * task_.shape.slot_count());
    }
    sums_.duplicates += static_cast<double>(duplicate_count(after)) / layers;
    sums_.plan_ms += plan_ms;
    ++plans_;
  }

  [[nodiscard]] Score score() const {
    Score score = sums_;
    const auto served = static_cast<double>(std::max<std::size_t>(served_, 1));
    const auto plans = static_cast<double>(plans_);
    score.balancedness /= served;
    score.balancedness_hashed /= served;
    score.balancedness_shares /= served;
    score.balancedness_exact /= served;
    score.balancedness_nearest /= served;
    score.network_share /= served;
    score.regret /= served;
    score.moved /= plans - 1;
    score.duplicates /= plans;
    score.plan_ms /= plans;
    return score;
  }

 private:
  const ScoreTask& task_;
  ReplicaShares even_;
  ReplicaShares hashed_;
  Score sums_;
  std::size_t served_ = 0;
  std::size_t plans_ = 0;
};

}  // namespace

Result<Score> score_policy(const ScoreTask& task, const PlacementPolicy& policy,
                           const std::function<void(std::size_t)>& on_plan) {
  ScoreSums sums(task);
  Placement current = Placement::initial(task.shape);
  for (std::size_t newest = kPlannedWindows - 1; newest + 1 < task.windows.size(); ++newest) {
    const PolicyProblem problem = problem_at(task, newest, &current);
    Placement next = current;
    double plan_ms = 0;
    if (window_load(problem).sum() > 0) {
      const auto begin = std::chrono::steady_clock::now();
      auto placed = policy.place(problem);
      const std::chrono::duration<double, std::milli> elapsed =
          std::chrono::steady_clock::now() - begin;
      if (!placed) {
        return tl::unexpected(std::move(placed).error());
      }
      next = *std::move(placed);
      plan_ms = elapsed.count();
    }
    sums.add_plan(current, next, plan_ms);
    current = std::move(next);
    const std::vector<LayerShares> shares = learn_shares(problem, current);
    if (auto added = sums.add_window(current, shares, task.windows[newest + 1]); !added) {
      return tl::unexpected(std::move(added).error());
    }
    on_plan(newest + 2 - kPlannedWindows);
  }
  return sums.score();
}

Result<Ceiling> ceiling_of(const ScoreTask& task) {
  const auto policy = placement::make_policy("default");
  if (!policy) {
    return tl::unexpected(policy.error());
  }
  ReplicaShares even = ReplicaShares::even();
  Ceiling ceiling;
  double served = 0;
  for (const RealLoadMatrix& window : task.windows.subspan(kPlannedWindows)) {
    if (window.sum() == 0) {
      continue;
    }
    const PolicyProblem problem{.shape = task.shape,
                                .topology = task.topology,
                                .history = std::span(&window, 1),
                                .costs = {}};
    const auto placed = (*policy)->place(problem);
    if (!placed) {
      return tl::unexpected(placed.error());
    }
    const auto bound = placement::bound(window, task.shape);
    if (!bound) {
      return tl::unexpected(bound.error());
    }
    const auto layers = static_cast<double>(window.rows());
    ceiling.forecast += balancedness(rank_loads(*placed, window, even)).value;
    ceiling.bound += window.sum() / task.shape.rank_count / (*bound * layers);
    served += 1;
  }
  if (served > 0) {
    ceiling.forecast /= served;
    ceiling.bound /= served;
  }
  return ceiling;
}

Score mean_score(std::span<const Score> scores) {
  Score mean{.worst = scores.front().worst, .worst_hashed = scores.front().worst_hashed};
  const auto count = static_cast<double>(scores.size());
  for (const Score& score : scores) {
    mean.balancedness += score.balancedness / count;
    mean.worst = std::min(mean.worst, score.worst);
    mean.balancedness_hashed += score.balancedness_hashed / count;
    mean.worst_hashed = std::min(mean.worst_hashed, score.worst_hashed);
    mean.balancedness_shares += score.balancedness_shares / count;
    mean.balancedness_exact += score.balancedness_exact / count;
    mean.balancedness_nearest += score.balancedness_nearest / count;
    mean.network_share += score.network_share / count;
    mean.regret += score.regret / count;
    mean.moved += score.moved / count;
    mean.duplicates += score.duplicates / count;
    mean.plan_ms += score.plan_ms / count;
  }
  return mean;
}

}  // namespace eplb::cli
