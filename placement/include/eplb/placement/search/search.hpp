#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "eplb/core/result.hpp"
#include "eplb/placement/options.hpp"
#include "eplb/placement/search/pareto.hpp"

namespace eplb::placement {

/// The candidate that all others are compared with.
inline constexpr std::size_t kBaseCandidate = 0;

/// One run that a search wants.
struct SearchRun {
  std::size_t candidate = kBaseCandidate;
  std::int32_t seed_index = 0;  ///< Runs of one index see the same random numbers.
  std::int64_t steps = 0;

  friend bool operator==(const SearchRun&, const SearchRun&) = default;
};

/// What a run measured, one value an objective in the order of the options, each in its own unit;
/// or why it failed.
using RunOutcome = tl::expected<std::vector<double>, std::string>;

/// Does all these runs, side by side if it likes, and gives an outcome for each. It must be a pure
/// function of the run, and should remember: a later rung asks for runs of earlier ones again. Its
/// error ends the search.
using Judge = std::function<Result<std::vector<RunOutcome>>(std::span<const SearchRun> runs)>;

/// A round of judging: all candidates that are still in it, on as many seeds.
struct Rung {
  std::int32_t seed_count = 0;
  std::int64_t steps = 0;
};

/// The rungs that a method climbs; one but for successive halving, whose last one has all seeds and
/// whose others have `keep` times as many as the next. `run_steps` is what holds where the options
/// have no steps of their own for a rung.
[[nodiscard]] std::vector<Rung> rungs_of(const SearchOptions& options, std::int64_t run_steps);

/// Steps of all runs that the rungs want with so many candidates beside the base, none failing,
/// each run counted once. Those that confirm the front come on top.
[[nodiscard]] std::int64_t planned_steps(const SearchOptions& options, std::int64_t run_steps,
                                         std::size_t candidate_count);

/// [seed][objective], in each objective's own unit.
using Samples = std::vector<std::vector<double>>;

/// How far a candidate came.
struct Judged {
  std::int32_t rung = 0;  ///< The last one that it was judged in.
  Samples samples;        ///< Of that rung.
  std::string failure;    ///< Why its run failed; it is out then.
};

struct FrontMember {
  std::size_t candidate = kBaseCandidate;
  /// Of the fronts without one seed each, the share that has it; none with one seed.
  std::optional<double> stays = std::nullopt;
  Samples confirmed = {};  ///< On fresh seeds, the same as the base's; empty if there are none.
};

struct SearchOutcome {
  std::vector<Rung> rungs;
  std::vector<Judged> candidates;  ///< The base is the first.
  std::vector<Samples> base;       ///< The base's samples in each rung.
  /// Nobody dominates them by their means in the last rung, where the base competes too; the best
  /// by the first objective first.
  std::vector<FrontMember> front;
  Samples base_confirmed;
};

/// The mean of each objective; `samples` must not be empty.
[[nodiscard]] std::vector<double> mean_values(const Samples& samples);

/// Whether more of it is better.
[[nodiscard]] bool more_is_better(SearchObjective objective);

/// Values turned so that less is better.
[[nodiscard]] Costs costs_of(const std::vector<double>& values,
                             std::span<const SearchObjective> objectives);

/// Judges the base and `candidate_count` others, numbered from 1, as the options say, and confirms
/// the front. All rungs use the same seeds, so that what they have in common cancels between
/// candidates (common random numbers). A candidate goes on by its layer, within a layer by the
/// first objective, then by its number. Fails with the judge's error, or with kInvalidConfig if the
/// base fails.
[[nodiscard]] Result<SearchOutcome> run_search(const SearchOptions& options, std::int64_t run_steps,
                                               std::size_t candidate_count, const Judge& judge);

}  // namespace eplb::placement
