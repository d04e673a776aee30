#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "eplb/core/result.hpp"
#include "eplb/placement/search/search.hpp"
#include "run_progress.hpp"
#include "search_candidates.hpp"
#include "search_dealer.hpp"
#include "search_evaluations.hpp"
#include "search_journal.hpp"

namespace eplb::cli {

/// Part `index` of `count`, from 1.
struct Shard {
  std::int32_t index = 1;
  std::int32_t count = 1;
};

/// Does the run that a request of SearchJudge asks for; throws nothing.
[[nodiscard]] std::string answer_request(const std::string& request,
                                         const CandidateList& candidates,
                                         const CandidateSource& source);

/// Judges runs in the simulator, on all threads and processes. What the journals know is not run
/// again.
class SearchJudge {
 public:
  struct Setup {
    const CandidateList& candidates;
    const placement::SearchOptions& options;
    std::uint64_t first_seed = 1;
    std::int64_t planned_steps = 0;  ///< Of all rungs.
    std::optional<Shard> shard = std::nullopt;
  };

  /// `known` is what journals hold; `journal` may be none.
  SearchJudge(Setup setup, Evaluations known, std::optional<Journal> journal, SearchDealer& dealer,
              RunProgress& progress)
      : setup_(setup),
        known_(std::move(known)),
        journal_(std::move(journal)),
        dealer_(dealer),
        progress_(progress) {}

  /// As placement::Judge. In a shard the first runs that are not all known are done as far as they
  /// are its part, and then end the search, with kAborted.
  [[nodiscard]] Result<std::vector<placement::RunOutcome>> operator()(
      std::span<const placement::SearchRun> runs);

  /// Runs that were asked for so far, each once, and those of them that were done here.
  [[nodiscard]] std::size_t wanted_count() const { return wanted_.size(); }

  [[nodiscard]] std::size_t done_count() const { return done_count_; }

 private:
  [[nodiscard]] EvaluationKey key_of(const placement::SearchRun& run) const;

  /// Does the runs, and remembers and writes down what comes of them.
  [[nodiscard]] Result<void> do_runs(const std::vector<placement::SearchRun>& runs);

  [[nodiscard]] placement::RunOutcome outcome_of(const placement::SearchRun& run) const;

  Setup setup_;
  Evaluations known_;
  std::optional<Journal> journal_;
  SearchDealer& dealer_;
  RunProgress& progress_;
  std::set<EvaluationKey> wanted_;
  std::int64_t known_steps_ = 0;  ///< Of runs that were wanted and known already.
  std::int64_t done_steps_ = 0;
  std::size_t done_count_ = 0;
};

}  // namespace eplb::cli
