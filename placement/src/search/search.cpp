#include "eplb/placement/search/search.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace eplb::placement {
namespace {

using Candidates = std::vector<std::size_t>;

std::size_t kept_count(std::size_t count, double keep) {
  const double kept = std::ceil(static_cast<double>(count) * keep);
  return std::clamp(static_cast<std::size_t>(kept), std::size_t{1},
                    std::max(count, std::size_t{1}));
}

std::vector<SearchRun> runs_of(const Candidates& candidates, std::int32_t first_seed,
                               const Rung& rung) {
  std::vector<SearchRun> runs;
  runs.reserve(candidates.size() * static_cast<std::size_t>(rung.seed_count));
  for (const std::size_t candidate : candidates) {
    for (std::int32_t seed = 0; seed < rung.seed_count; ++seed) {
      runs.push_back(
          {.candidate = candidate, .seed_index = first_seed + seed, .steps = rung.steps});
    }
  }
  return runs;
}

/// One search under way.
class Search {
 public:
  Search(const SearchOptions& options, std::size_t candidate_count, const Judge& judge)
      : options_(options), judge_(judge) {
    outcome_.candidates.resize(candidate_count + 1);
  }

  [[nodiscard]] Result<SearchOutcome> run(std::int64_t run_steps) && {
    outcome_.rungs = rungs_of(options_, run_steps);
    Candidates alive(outcome_.candidates.size());
    std::iota(alive.begin(), alive.end(), kBaseCandidate);
    for (std::size_t rung = 0; rung < outcome_.rungs.size(); ++rung) {
      if (rung > 0) {
        alive = survivors(alive);
      }
      if (const auto judged = judge_rung(alive, rung); !judged) {
        return tl::unexpected(judged.error());
      }
    }
    find_front(alive);
    if (options_.confirm_seeds > 0) {
      if (const auto confirmed = confirm(); !confirmed) {
        return tl::unexpected(confirmed.error());
      }
    }
    return std::move(outcome_);
  }

 private:
  [[nodiscard]] Judged& of(std::size_t candidate) { return outcome_.candidates[candidate]; }

  [[nodiscard]] std::vector<Costs> mean_costs(const Candidates& candidates) {
    std::vector<Costs> costs;
    costs.reserve(candidates.size());
    for (const std::size_t candidate : candidates) {
      costs.push_back(costs_of(mean_values(of(candidate).samples), options_.objectives));
    }
    return costs;
  }

  /// The samples of each candidate; those that fail are left without, and `alive` without them.
  [[nodiscard]] Result<std::vector<Samples>> judge_all(Candidates& alive, std::int32_t first_seed,
                                                       const Rung& rung) {
    const std::vector<SearchRun> runs = runs_of(alive, first_seed, rung);
    auto outcomes = judge_(runs);
    if (!outcomes) {
      return tl::unexpected(outcomes.error());
    }
    std::vector<Samples> samples(outcome_.candidates.size());
    for (std::size_t index = 0; index < runs.size(); ++index) {
      const std::size_t candidate = runs[index].candidate;
      RunOutcome& one = (*outcomes)[index];
      if (one.has_value()) {
        samples[candidate].push_back(*std::move(one));
      } else if (of(candidate).failure.empty()) {
        of(candidate).failure = std::move(one).error();
      }
    }
    if (!of(kBaseCandidate).failure.empty()) {
      return fail(ErrorCode::kInvalidConfig,
                  "the base setting cannot be judged: " + of(kBaseCandidate).failure);
    }
    std::erase_if(alive, [&](std::size_t candidate) { return !of(candidate).failure.empty(); });
    return samples;
  }

  [[nodiscard]] Result<void> judge_rung(Candidates& alive, std::size_t rung) {
    auto samples = judge_all(alive, 0, outcome_.rungs[rung]);
    if (!samples) {
      return tl::unexpected(samples.error());
    }
    outcome_.base.push_back((*samples)[kBaseCandidate]);
    for (const std::size_t candidate : alive) {
      of(candidate).rung = static_cast<std::int32_t>(rung);
      of(candidate).samples = std::move((*samples)[candidate]);
    }
    return {};
  }

  /// The base, and of the others the better part.
  [[nodiscard]] Candidates survivors(Candidates alive) {
    std::erase(alive, kBaseCandidate);
    const std::vector<Costs> costs = mean_costs(alive);
    const std::vector<std::int32_t> layers = pareto_layers(costs);
    std::vector<std::size_t> order(alive.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t index) {
      return std::tuple(layers[index], costs[index].front(), alive[index]);
    });
    order.resize(std::min(order.size(), kept_count(order.size(), options_.keep)));
    Candidates kept{kBaseCandidate};
    for (const std::size_t index : order) {
      kept.push_back(alive[index]);
    }
    std::ranges::sort(kept);
    return kept;
  }

  void find_front(const Candidates& alive) {
    const std::vector<Costs> costs = mean_costs(alive);
    const std::vector<std::int32_t> layers = pareto_layers(costs);
    const std::vector<std::optional<double>> stays = stays_of(alive);
    std::vector<std::size_t> order;
    for (std::size_t index = 0; index < alive.size(); ++index) {
      if (layers[index] == 0) {
        order.push_back(index);
      }
    }
    std::ranges::sort(order, {}, [&](std::size_t index) {
      return std::tuple(costs[index].front(), alive[index]);
    });
    for (const std::size_t index : order) {
      outcome_.front.push_back({.candidate = alive[index], .stays = stays[index], .confirmed = {}});
    }
  }

  /// How often each is on the front when one seed is left out.
  [[nodiscard]] std::vector<std::optional<double>> stays_of(const Candidates& alive) {
    const std::size_t seed_count = of(kBaseCandidate).samples.size();
    std::vector<std::optional<double>> stays(alive.size());
    if (seed_count < 2) {
      return stays;
    }
    std::vector<std::int32_t> counts(alive.size(), 0);
    for (std::size_t left_out = 0; left_out < seed_count; ++left_out) {
      std::vector<Costs> costs;
      costs.reserve(alive.size());
      for (const std::size_t candidate : alive) {
        Samples samples = of(candidate).samples;
        samples.erase(samples.begin() + static_cast<std::ptrdiff_t>(left_out));
        costs.push_back(costs_of(mean_values(samples), options_.objectives));
      }
      const std::vector<std::int32_t> layers = pareto_layers(costs);
      for (std::size_t index = 0; index < alive.size(); ++index) {
        counts[index] += layers[index] == 0 ? 1 : 0;
      }
    }
    for (std::size_t index = 0; index < alive.size(); ++index) {
      stays[index] = static_cast<double>(counts[index]) / static_cast<double>(seed_count);
    }
    return stays;
  }

  /// Runs the base and the front on seeds that had no part in choosing them. A member that fails
  /// there is none; the base is left if all do.
  [[nodiscard]] Result<void> confirm() {
    const Rung fresh{.seed_count = options_.confirm_seeds, .steps = outcome_.rungs.back().steps};
    std::set<std::size_t> wanted{kBaseCandidate};
    for (const FrontMember& member : outcome_.front) {
      wanted.insert(member.candidate);
    }
    Candidates alive(wanted.begin(), wanted.end());
    auto samples = judge_all(alive, outcome_.rungs.back().seed_count, fresh);
    if (!samples) {
      return tl::unexpected(samples.error());
    }
    std::erase_if(outcome_.front,
                  [&](const FrontMember& member) { return !of(member.candidate).failure.empty(); });
    if (outcome_.front.empty()) {
      outcome_.front.push_back({});
    }
    for (FrontMember& member : outcome_.front) {
      member.confirmed = (*samples)[member.candidate];
    }
    outcome_.base_confirmed = std::move((*samples)[kBaseCandidate]);
    return {};
  }

  const SearchOptions& options_;
  const Judge& judge_;
  SearchOutcome outcome_;
};

}  // namespace

std::vector<Rung> rungs_of(const SearchOptions& options, std::int64_t run_steps) {
  if (options.method != SearchMethod::kSuccessiveHalving) {
    return {{.seed_count = options.seeds, .steps = run_steps}};
  }
  std::vector<Rung> rungs(static_cast<std::size_t>(options.rungs));
  double seed_count = options.seeds;
  for (std::size_t rung = rungs.size(); rung-- > 0;) {
    // Not just above a whole number for the rounding of a product.
    constexpr double kRounding = 1e-9;
    rungs[rung].seed_count =
        std::max(1, static_cast<std::int32_t>(std::ceil(seed_count - kRounding)));
    rungs[rung].steps =
        options.rung_steps.empty() ? run_steps : std::int64_t{options.rung_steps[rung]};
    seed_count *= options.keep;
  }
  return rungs;
}

std::int64_t planned_steps(const SearchOptions& options, std::int64_t run_steps,
                           std::size_t candidate_count) {
  std::int64_t steps = 0;
  Rung before;
  std::size_t alive = candidate_count;
  for (const Rung& rung : rungs_of(options, run_steps)) {
    const bool is_first = before.steps == 0;
    alive = is_first || alive == 0 ? alive : kept_count(alive, options.keep);
    const std::int32_t known = rung.steps == before.steps ? before.seed_count : 0;
    steps += static_cast<std::int64_t>(alive + 1) * (rung.seed_count - known) * rung.steps;
    before = rung;
  }
  return steps;
}

std::vector<double> mean_values(const Samples& samples) {
  std::vector<double> means(samples.front().size(), 0.0);
  for (const std::vector<double>& sample : samples) {
    for (std::size_t objective = 0; objective < means.size(); ++objective) {
      means[objective] += sample[objective];
    }
  }
  for (double& mean : means) {
    mean /= static_cast<double>(samples.size());
  }
  return means;
}

bool more_is_better(SearchObjective objective) {
  return objective == SearchObjective::kThroughput;
}

Costs costs_of(const std::vector<double>& values, std::span<const SearchObjective> objectives) {
  Costs costs = values;
  for (std::size_t index = 0; index < costs.size(); ++index) {
    costs[index] = more_is_better(objectives[index]) ? -costs[index] : costs[index];
  }
  return costs;
}

Result<SearchOutcome> run_search(const SearchOptions& options, std::int64_t run_steps,
                                 std::size_t candidate_count, const Judge& judge) {
  return Search(options, candidate_count, judge).run(run_steps);
}

}  // namespace eplb::placement
