// Goal: a search asks for the runs of its rungs on common seeds, keeps the right candidates, finds
// the front and confirms it on fresh seeds. Method: a judge that computes values from candidate and
// seed, and notes what it was asked.
#include "eplb/placement/search/search.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "print_vector.hpp"

namespace eplb::placement {
namespace {

using doctest::Approx;
using Places = std::vector<std::size_t>;

/// Judges by a formula, and counts runs by round.
class FormulaJudge {
 public:
  using Formula = std::function<RunOutcome(const SearchRun&)>;

  explicit FormulaJudge(Formula formula) : formula_(std::move(formula)) {}

  [[nodiscard]] Judge judge() {
    return [this](std::span<const SearchRun> runs) -> Result<std::vector<RunOutcome>> {
      asked.emplace_back(runs.begin(), runs.end());
      std::vector<RunOutcome> outcomes;
      outcomes.reserve(runs.size());
      for (const SearchRun& run : runs) {
        outcomes.push_back(formula_(run));
      }
      return outcomes;
    };
  }

  std::vector<std::vector<SearchRun>> asked;

 private:
  Formula formula_;
};

Places front_of(const SearchOutcome& outcome) {
  Places places;
  places.reserve(outcome.front.size());
  for (const FrontMember& member : outcome.front) {
    places.push_back(member.candidate);
  }
  return places;
}

/// The candidates of a round, each once.
Places candidates_in(const std::vector<SearchRun>& runs) {
  Places places;
  for (const SearchRun& run : runs) {
    if (places.empty() || places.back() != run.candidate) {
      places.push_back(run.candidate);
    }
  }
  return places;
}

/// Candidate c has throughput 10 + c and needs memory c: no one dominates another.
RunOutcome fair_trade(const SearchRun& run) {
  const auto candidate = static_cast<double>(run.candidate);
  return std::vector<double>{10 + candidate, candidate};
}

SearchOptions trade_options(SearchMethod method) {
  return {.objectives = {SearchObjective::kThroughput, SearchObjective::kMemory},
          .method = method,
          .seeds = 4,
          .confirm_seeds = 2};
}

TEST_CASE("a grid judges every candidate on all seeds, then the front on fresh ones") {
  FormulaJudge formula(&fair_trade);
  const auto outcome = run_search(trade_options(SearchMethod::kGrid), 100, 3, formula.judge());
  REQUIRE(outcome.has_value());
  REQUIRE(formula.asked.size() == 2);
  CHECK(formula.asked[0].size() == 16);
  CHECK(formula.asked[0][0] == SearchRun{.candidate = 0, .seed_index = 0, .steps = 100});
  CHECK(formula.asked[0][7] == SearchRun{.candidate = 1, .seed_index = 3, .steps = 100});
  CHECK(formula.asked[1].size() == 8);
  CHECK(formula.asked[1][0] == SearchRun{.candidate = 0, .seed_index = 4, .steps = 100});
  // The best by the first objective stands first; the base is as good a compromise as any.
  CHECK(front_of(*outcome) == Places{3, 2, 1, 0});
  CHECK(outcome->front[0].stays == 1.0);
  CHECK(outcome->front[0].confirmed == Samples{{13, 3}, {13, 3}});
  CHECK(outcome->base_confirmed == Samples{{10, 0}, {10, 0}});
}

TEST_CASE("successive halving doubles the seeds and halves the candidates from rung to rung") {
  FormulaJudge formula([](const SearchRun& run) -> RunOutcome {
    return std::vector<double>{static_cast<double>(run.candidate), 1};
  });
  SearchOptions options = trade_options(SearchMethod::kSuccessiveHalving);
  options.confirm_seeds = 0;
  const auto outcome = run_search(options, 100, 7, formula.judge());
  REQUIRE(outcome.has_value());
  REQUIRE(formula.asked.size() == 3);
  CHECK(candidates_in(formula.asked[0]) == Places{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(formula.asked[0].size() == 8);
  CHECK(candidates_in(formula.asked[1]) == Places{0, 4, 5, 6, 7});
  CHECK(formula.asked[1].size() == 10);
  CHECK(candidates_in(formula.asked[2]) == Places{0, 6, 7});
  CHECK(formula.asked[2].size() == 12);
  CHECK(front_of(*outcome) == Places{7});
  CHECK(outcome->candidates[3].rung == 0);
  CHECK(outcome->candidates[5].rung == 1);
  CHECK(outcome->candidates[5].samples.size() == 2);
  CHECK(outcome->candidates[7].samples.size() == 4);
  CHECK(outcome->base[1].size() == 2);
  CHECK(outcome->base_confirmed.empty());
}

TEST_CASE("halving keeps the front of all objectives before the best by the first") {
  // 1 is best by throughput, 2 by memory, 3 is dominated by 1, 4 by all.
  const std::vector<std::vector<double>> values{{0, 9}, {9, 5}, {1, 1}, {8, 6}, {1, 8}};
  FormulaJudge formula([&](const SearchRun& run) -> RunOutcome { return values[run.candidate]; });
  SearchOptions options = trade_options(SearchMethod::kSuccessiveHalving);
  options.rungs = 2;
  const auto outcome = run_search(options, 100, 4, formula.judge());
  REQUIRE(outcome.has_value());
  CHECK(candidates_in(formula.asked[1]) == Places{0, 1, 2});
}

TEST_CASE("rungs have their own steps where they are given, and runs are planned once each") {
  SearchOptions options = trade_options(SearchMethod::kSuccessiveHalving);
  // 8 + base on 1 seed, 4 + base on one more, 2 + base on two more.
  CHECK(planned_steps(options, 100, 8) == (9 * 1 + 5 * 1 + 3 * 2) * 100);
  options.rung_steps = {20, 20, 50};
  const std::vector<Rung> rungs = rungs_of(options, 100);
  REQUIRE(rungs.size() == 3);
  CHECK(rungs[1].steps == 20);
  CHECK(rungs[2].seed_count == 4);
  CHECK(planned_steps(options, 100, 8) == 9 * 20 + 5 * 20 + 3 * 4 * 50);
  CHECK(planned_steps(trade_options(SearchMethod::kGrid), 100, 8) == 9 * 4 * 100);
  options.keep = 0.3;
  options.seeds = 10;
  CHECK(rungs_of(options, 100)[1].seed_count == 3);  // 0.3 x 10 is none the more for rounding.
  CHECK(rungs_of(options, 100)[0].seed_count == 1);
}

TEST_CASE("a front that hangs on one seed says so") {
  // On seed 0 candidate 1 is far better, on the three others worse than the base.
  FormulaJudge formula([](const SearchRun& run) -> RunOutcome {
    const double gain = run.seed_index == 0 ? 30 : -1;
    return std::vector<double>{10 + (run.candidate == 1 ? gain : 0), 1};
  });
  const auto outcome = run_search(trade_options(SearchMethod::kGrid), 100, 1, formula.judge());
  REQUIRE(outcome.has_value());
  REQUIRE(front_of(*outcome) == Places{1});
  CHECK(outcome->front[0].stays == 0.75);
  // The fresh seeds tell the truth.
  CHECK(mean_values(outcome->front[0].confirmed)[0] == Approx(9));
}

TEST_CASE("a candidate that fails is out, in any round, and the base may not") {
  FormulaJudge formula([](const SearchRun& run) -> RunOutcome {
    if (run.candidate == 1 && run.seed_index == 3) {
      return tl::unexpected<std::string>("lost a rank");
    }
    if (run.candidate == 3 && run.seed_index == 5) {
      return tl::unexpected<std::string>("late");
    }
    return fair_trade(run);
  });
  const SearchOptions options = trade_options(SearchMethod::kGrid);
  const auto outcome = run_search(options, 100, 3, formula.judge());
  REQUIRE(outcome.has_value());
  CHECK(outcome->candidates[1].failure == "lost a rank");
  CHECK(outcome->candidates[1].samples.empty());
  CHECK(outcome->candidates[3].failure == "late");
  CHECK(front_of(*outcome) == Places{2, 0});
  FormulaJudge failing(
      [](const SearchRun&) -> RunOutcome { return tl::unexpected<std::string>("no memory"); });
  const auto failed = run_search(options, 100, 3, failing.judge());
  REQUIRE_FALSE(failed.has_value());
  CHECK(failed.error().message == "the base setting cannot be judged: no memory");
}

TEST_CASE("a search ends with its judge's error") {
  const Judge judge = [](std::span<const SearchRun>) -> Result<std::vector<RunOutcome>> {
    return fail(ErrorCode::kAborted, "enough");
  };
  const auto outcome = run_search(trade_options(SearchMethod::kGrid), 100, 3, judge);
  REQUIRE_FALSE(outcome.has_value());
  CHECK(outcome.error().code == ErrorCode::kAborted);
}

}  // namespace
}  // namespace eplb::placement
