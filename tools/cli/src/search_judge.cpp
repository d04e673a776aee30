#include "search_judge.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "run_batch.hpp"

namespace eplb::cli {
namespace {

using Json = nlohmann::ordered_json;

Evaluation evaluate(const std::vector<Setting>& settings, std::uint64_t config_digest,
                    std::uint64_t seed, std::int64_t steps, const CandidateSource& source) {
  const config::LoadResult loaded = source.load(settings);
  if (!loaded || loaded->digest != config_digest) {
    return tl::unexpected<std::string>("the configuration has changed since the search began");
  }
  sim::Scenario scenario = loaded->scenario;
  scenario.run.seed = seed;
  scenario.run.steps = steps;
  const auto result = simulate_run(scenario, {});
  if (!result) {
    return tl::unexpected(result.error().message);
  }
  return measured_of(*result);
}

}  // namespace

std::string answer_request(const std::string& request, const CandidateList& candidates,
                           const CandidateSource& source) {
  Evaluation evaluation = tl::unexpected<std::string>("");
  try {
    const Json json = Json::parse(request);
    const Candidate& candidate = candidates.all.at(json.at("candidate").get<std::size_t>());
    evaluation =
        evaluate(candidate.settings, candidate.digest, json.at("seed").get<std::uint64_t>(),
                 json.at("steps").get<std::int64_t>(), source);
  } catch (const std::exception& error) {
    // Memory has run out, or the like.
    evaluation = tl::unexpected<std::string>(error.what());
  }
  return evaluation_json(evaluation).dump(-1, ' ', false, Json::error_handler_t::replace);
}

EvaluationKey SearchJudge::key_of(const placement::SearchRun& run) const {
  const std::size_t candidate = setup_.candidates.judged[run.candidate];
  return {.config_digest = setup_.candidates.all[candidate].digest,
          .seed = setup_.first_seed + static_cast<std::uint64_t>(run.seed_index),
          .steps = run.steps};
}

placement::RunOutcome SearchJudge::outcome_of(const placement::SearchRun& run) const {
  const Evaluation& evaluation = known_.at(key_of(run));
  if (!evaluation) {
    return tl::unexpected(evaluation.error());
  }
  std::vector<double> values;
  values.reserve(setup_.options.objectives.size());
  for (const placement::SearchObjective objective : setup_.options.objectives) {
    values.push_back(value_of(*evaluation, objective));
  }
  return values;
}

Result<void> SearchJudge::do_runs(const std::vector<placement::SearchRun>& runs) {
  std::vector<std::string> requests;
  requests.reserve(runs.size());
  for (const placement::SearchRun& run : runs) {
    requests.push_back(Json{
        {"candidate", setup_.candidates.judged[run.candidate]},
        {"seed", key_of(run).seed},
        {"steps",
         run.steps}}.dump());
  }
  const auto sum = [](std::int64_t steps, const placement::SearchRun& run) {
    return steps + run.steps;
  };
  const std::int64_t own = std::accumulate(runs.begin(), runs.end(), std::int64_t{0}, sum);
  const std::int64_t planned =
      setup_.shard.has_value() ? 0 : setup_.planned_steps - known_steps_ - done_steps_;
  const std::int64_t step_total = done_steps_ + std::max(own, planned);
  return dealer_.deal(requests, [&](std::size_t index, const std::string& reply) -> Result<void> {
    const auto evaluation = read_evaluation(Json::parse(reply));
    if (!evaluation) {
      return tl::unexpected(evaluation.error());
    }
    const EvaluationKey key = key_of(runs[index]);
    known_.insert_or_assign(key, *evaluation);
    ++done_count_;
    done_steps_ += runs[index].steps;
    progress_.show("search", done_steps_, step_total);
    return journal_.has_value() ? journal_->add(key, *evaluation) : Result<void>();
  });
}

Result<std::vector<placement::RunOutcome>> SearchJudge::operator()(
    std::span<const placement::SearchRun> runs) {
  std::vector<placement::SearchRun> missing;
  std::vector<placement::SearchRun> own;
  const std::optional<Shard>& shard = setup_.shard;
  for (std::size_t index = 0; index < runs.size(); ++index) {
    const EvaluationKey key = key_of(runs[index]);
    const bool is_first = wanted_.insert(key).second;
    if (known_.contains(key)) {
      known_steps_ += is_first ? runs[index].steps : 0;
      continue;
    }
    missing.push_back(runs[index]);
    const auto part = static_cast<std::int64_t>(index) % (shard.has_value() ? shard->count : 1);
    if (part == (shard.has_value() ? shard->index - 1 : 0)) {
      own.push_back(runs[index]);
    }
  }
  if (auto done = do_runs(own); !done) {
    return tl::unexpected(std::move(done).error());
  }
  if (shard.has_value() && !missing.empty()) {
    return fail(ErrorCode::kAborted,
                fmt::format("shard {}/{}: {} of {} runs of this round were missing, {} of them its "
                            "part, which are done",
                            shard->index, shard->count, missing.size(), runs.size(), own.size()));
  }
  std::vector<placement::RunOutcome> outcomes;
  outcomes.reserve(runs.size());
  for (const placement::SearchRun& run : runs) {
    outcomes.push_back(outcome_of(run));
  }
  return outcomes;
}

}  // namespace eplb::cli
