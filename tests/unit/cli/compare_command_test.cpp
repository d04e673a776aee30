// Goal: `eplb sim --compare` says whether EPLB pays, keeps its contract with programs, and refuses
// what cannot be compared. Method: whole runs of a tiny scenario: with the popular experts on one
// rank, where EPLB pays, and with none popular, where its redundant weights are for nothing.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "comparison.hpp"
#include "eplb/config/config.hpp"
#include "run_batch.hpp"
#include "run_eplb.hpp"
#include "scenario_file.hpp"
#include "sensitivity.hpp"
#include "temp_folder.hpp"

namespace eplb {
namespace {

using doctest::Approx;
using Json = nlohmann::ordered_json;
using Strings = std::vector<std::string>;

std::string replaced(std::string text, const std::string& old_part, const std::string& new_part) {
  return text.replace(text.find(old_part), old_part.size(), new_part);
}

/// The tiny scenario with other routing.
std::string scenario_text(const std::string& routing) {
  return replaced(test::kScenario, "{kind: zipf, exponent: 1}", routing);
}

Strings keys_of(const Json& object) {
  Strings keys;
  for (const auto& item : object.items()) {
    keys.push_back(item.key());
  }
  return keys;
}

/// Runs of `eplb sim --compare` on the tiny scenario.
class CompareRun {
 public:
  /// Half of the ranks begins with most of the load; the counts are the same on every seed.
  [[nodiscard]] test::Outcome skewed(Strings options = {}) const {
    options.insert(options.end(), {"--set", "serving.requests_per_rank=4096"});
    return compare(skewed_, std::move(options));
  }

  [[nodiscard]] test::Outcome uniform(Strings options = {}) const {
    return compare(uniform_, std::move(options));
  }

  /// Without --compare.
  [[nodiscard]] test::Outcome sim(Strings options) const {
    options.insert(options.begin(), {"sim", uniform_});
    return test::run_eplb(options);
  }

  [[nodiscard]] static Json json_of(const test::Outcome& outcome) {
    CHECK(outcome.code == 0);
    return Json::parse(outcome.out, nullptr, false);
  }

 private:
  [[nodiscard]] static test::Outcome compare(const std::string& file, Strings options) {
    options.insert(options.begin(), {"sim", file, "--compare"});
    return test::run_eplb(options);
  }

  test::TempFolder folder_;
  std::string counts_ =
      folder_.write("counts.json", R"({"logical_count": [[8, 7, 6, 5, 1, 1, 1, 1]]})").string();
  std::string skewed_ =
      folder_.write("skewed.yaml", scenario_text("{kind: counts, file: counts.json}")).string();
  std::string uniform_ = folder_.write("uniform.yaml", scenario_text("{kind: uniform}")).string();
};

sim::Scenario uniform_scenario() {
  const std::string text = scenario_text("{kind: uniform}");
  const auto loaded =
      config::load_config_text({.text = text, .name = "uniform.yaml", .directory = {}},
                               {.config_dirs = {}, .overrides = {}, .policy_names = {}});
  REQUIRE(loaded.has_value());
  return loaded->scenario;
}

TEST_CASE("compare writes the keys of its contract in their order") {
  const Json json = CompareRun::json_of(CompareRun().skewed({"--json", "-", "--seeds", "2"}));
  CHECK(keys_of(json) == Strings{"schema", "version", "config_digest", "steps", "seeds", "off",
                                 "arms", "best", "verdict", "sentence", "sensitivity"});
  const Strings breakdown{"mega_moe", "others", "idle", "eplb"};
  CHECK(keys_of(json["off"]) ==
        Strings{"throughput_tokens_per_s", "step_ms", "balancedness", "breakdown_ms"});
  CHECK(keys_of(json["off"]["breakdown_ms"]) == breakdown);
  REQUIRE(json["arms"].size() == 18);
  CHECK(keys_of(json["arms"][0]) == Strings{"policy", "step_interval", "gain", "gain_low",
                                            "gain_high", "throughput_tokens_per_s", "step_ms",
                                            "balancedness", "breakdown_ms",
                                            "moved_bytes_per_rearrangement"});
  CHECK(keys_of(json["arms"][0]["breakdown_ms"]) == breakdown);
  CHECK(json["schema"] == "eplb.compare/1");
  CHECK(json["steps"] == 60);
  CHECK(json["seeds"] == Json{1, 2});
  CHECK(json["sensitivity"] == nullptr);
}

TEST_CASE("compare finds that EPLB pays where one rank has the popular experts") {
  const Json json = CompareRun::json_of(CompareRun().skewed({"--json", "-"}));
  CHECK(json["verdict"] == "pays");
  CHECK(json["sentence"].get<std::string>().starts_with("EPLB pays: +"));
  const Json& best = json["arms"][json["best"].get<std::size_t>()];
  CHECK(best["policy"] != "linear");
  CHECK(best["step_interval"] == 20);
  CHECK(best["gain"].get<double>() == Approx(0.09).epsilon(0.05));
  CHECK(best["gain_low"].get<double>() > 0.085);
  CHECK(best["gain_high"].get<double>() > best["gain"].get<double>());
  CHECK(best["moved_bytes_per_rearrangement"].get<double>() > 0);
  for (const Json& arm : json["arms"]) {
    CHECK(arm["gain"].get<double>() <= best["gain"].get<double>());
  }
}

TEST_CASE("compare finds that EPLB does not pay where no expert is popular") {
  const Json json = CompareRun::json_of(CompareRun().uniform({"--json", "-"}));
  CHECK(json["verdict"] == "does not pay");
  const Json& best = json["arms"][json["best"].get<std::size_t>()];
  CHECK(best["policy"] == "linear");  // At least it moves nothing.
  CHECK(best["moved_bytes_per_rearrangement"] == nullptr);
  CHECK(best["gain"].get<double>() < 0);
  CHECK(best["gain_high"].get<double>() < 0);
}

TEST_CASE("compare's arms are the runs that sim makes of them") {
  const CompareRun run;
  const Json compared = CompareRun::json_of(run.uniform({"--json", "-", "--seeds", "1"}));
  const Json alone = CompareRun::json_of(
      run.sim({"--json", "-", "--set", "eplb.policy=trtllm", "--set", "eplb.step_interval=60"}));
  const Json& arm = compared["arms"][17];
  CHECK(arm["policy"] == "trtllm");
  CHECK(arm["step_interval"] == 60);
  CHECK(arm["throughput_tokens_per_s"] == alone["throughput_tokens_per_s"]);
  CHECK(arm["breakdown_ms"] == alone["breakdown_ms"]);
  CHECK(compared["off"]["throughput_tokens_per_s"] == alone["baseline"]["throughput_tokens_per_s"]);
  CHECK(arm["gain"].get<double>() ==
        Approx(arm["throughput_tokens_per_s"].get<double>() /
                   compared["off"]["throughput_tokens_per_s"].get<double>() -
               1));
  CHECK(arm["gain_low"] == nullptr);
  CHECK(compared["verdict"] == "undecided");
  CHECK(compared["config_digest"].get<std::string>().size() == 16);
}

TEST_CASE("compare takes EPLB as on where the configuration has it off, and says so") {
  const CompareRun run;
  const test::Outcome on = run.uniform({"--json", "-"});
  const test::Outcome off = run.uniform({"--json", "-", "--set", "eplb.enabled=false"});
  CHECK(CompareRun::json_of(off)["arms"] == CompareRun::json_of(on)["arms"]);
  CHECK(off.err.find("eplb.enabled is false, which --compare passes over") != std::string::npos);
  const test::Outcome alone =
      run.uniform({"--set", "eplb.enabled=false", "--set", "parallel.ranks=1"});
  CHECK(alone.code == 2);
  CHECK(alone.err.find("one rank has nothing to balance") != std::string::npos);
}

TEST_CASE("compare's sensitivity lists what the scenario has, by swing") {
  const Json json = CompareRun::json_of(CompareRun().skewed({"--json", "-", "--sensitivity"}));
  const Json& effects = json["sensitivity"];
  Strings names;
  double swing = 1;
  for (const Json& effect : effects) {
    CHECK(keys_of(effect) ==
          Strings{"parameter", "gain_low_value", "gain_high_value", "swing", "survives"});
    names.push_back(effect["parameter"]);
    CHECK(effect["swing"].get<double>() <= swing);
    swing = effect["swing"];
    CHECK(effect["survives"] == true);
  }
  std::ranges::sort(names);
  CHECK(names == Strings{"hardware.arithmetic_efficiency", "hardware.expert_layer_start_us",
                         "hardware.hbm_bandwidth_gb_per_s", "hardware.nvlink_bandwidth_gb_per_s",
                         "hardware.peer_copy_bandwidth_gb_per_s", "serving.other_kernels_ms.base",
                         "serving.requests_per_rank"});
}

TEST_CASE("a parameter that may not grow has the unmoved gain above its value") {
  sim::Scenario scenario = uniform_scenario();
  scenario.workload.routing = sim::PowerLawRouting{.exponent = 20, .weight_max = 8};
  scenario.serving.requests_per_rank = 4096;
  scenario.serving.rank_imbalance = 0.1;
  const auto comparison = cli::compare_arms(scenario, {.seed_count = 2, .batch = {}});
  REQUIRE(comparison.has_value());
  const auto effects = cli::parameter_effects(scenario, *comparison, {});
  REQUIRE(effects.has_value());
  const double unmoved = comparison->arms[comparison->best].gain.mean;
  std::size_t found = 0;
  for (const cli::ParameterEffect& effect : *effects) {
    const bool is_efficiency = effect.parameter == "hardware.arithmetic_efficiency";
    if (is_efficiency || effect.parameter == "workload.routing.exponent") {
      ++found;
      CHECK(effect.high.mean == unmoved);
      CHECK(effect.value == (is_efficiency ? 1 : 20));
    }
    CHECK(effect.swing >= std::abs(effect.high.mean - effect.low.mean));
  }
  CHECK(found == 2);
  // No request adds to other kernels, but the spread between ranks could have been moved.
  CHECK(effects->size() == 9);
}

TEST_CASE("a comparison is the same for any number of threads") {
  const sim::Scenario scenario = uniform_scenario();
  const auto one = cli::compare_arms(scenario, {.seed_count = 2, .batch = {.thread_count = 1}});
  const auto two = cli::compare_arms(scenario, {.seed_count = 2, .batch = {.thread_count = 2}});
  REQUIRE(one.has_value());
  REQUIRE(two.has_value());
  REQUIRE(one->arms.size() == two->arms.size());
  CHECK(one->best == two->best);
  CHECK(one->off.throughput_tokens_per_s == two->off.throughput_tokens_per_s);
  for (std::size_t index = 0; index < one->arms.size(); ++index) {
    CHECK(one->arms[index].arm == two->arms[index].arm);
    CHECK(one->arms[index].gain.mean == two->arms[index].gain.mean);
    CHECK(one->arms[index].means.step_ms == two->arms[index].means.step_ms);
  }
}

/// Three runs on the seeds 5 to 7, all but the first with `policy`.
cli::RunBatch three_runs(const sim::Scenario& scenario, const std::string& policy) {
  return {.run_count = 3,
          .step_total = 3 * scenario.run.steps,
          .scenario_of = [&scenario, policy](std::size_t run) {
            sim::Scenario own = scenario;
            own.run.seed = 5 + run;
            own.eplb.policy = run == 0 ? "default" : policy;
            return own;
          }};
}

TEST_CASE("a batch tells whose run was the first to fail") {
  const sim::Scenario scenario = uniform_scenario();
  for (const std::int32_t thread_count : {1, 2, 3}) {
    CAPTURE(thread_count);
    const auto results =
        cli::simulate_batch(three_runs(scenario, "best"), {.thread_count = thread_count});
    REQUIRE_FALSE(results.has_value());
    CHECK(results.error().message.starts_with(
        "policy best every 20 steps, seed 6: unknown policy 'best'"));
  }
}

TEST_CASE("a batch counts the steps of all runs up to their total") {
  sim::Scenario scenario = uniform_scenario();
  scenario.run.steps = 150;
  std::int64_t most_done = 0;
  const cli::BatchOptions options{
      .thread_count = 2, .on_progress = [&](std::int64_t steps_done, std::int64_t step_total) {
        CHECK(step_total == 450);
        CHECK(steps_done >= most_done);
        most_done = steps_done;
      }};
  REQUIRE(cli::simulate_batch(three_runs(scenario, "linear"), options).has_value());
  CHECK(most_done == 450);
}

TEST_CASE("compare prints a table with the best arm marked, then the sentence") {
  const test::Outcome outcome = CompareRun().skewed({"--sensitivity"});
  CHECK(outcome.code == 0);
  CHECK(outcome.err.empty());
  CHECK(outcome.out.find("Each arm: 3 runs of 60 steps, those before its first rearrangement "
                         "included, on seeds 1 to 3.") != std::string::npos);
  CHECK(outcome.out.find("\nno EPLB ") != std::string::npos);
  CHECK(outcome.out.find("\nlinear every 60 ") != std::string::npos);
  CHECK(outcome.out.find("  best\n") != std::string::npos);
  CHECK(outcome.out.find("\nEPLB pays: +") != std::string::npos);
  CHECK(outcome.out.find("\nThe verdict survives +-20 % of every parameter.\n") !=
        std::string::npos);
  CHECK(CompareRun().skewed({"--seeds", "1"}).out.find("one seed gives no interval") !=
        std::string::npos);
}

TEST_CASE("compare refuses what does not go with it") {
  const CompareRun run;
  const auto refused = [](const test::Outcome& outcome, const std::string& message) {
    CHECK(outcome.code == 2);
    CHECK(outcome.out.empty());
    CHECK_MESSAGE(outcome.err.find(message) != std::string::npos, outcome.err);
  };
  refused(run.sim({"--seeds", "2"}), "--seeds: is for --compare only");
  refused(run.sim({"--sensitivity"}), "--sensitivity: is for --compare only");
  refused(run.uniform({"--seeds", "0"}), "--seeds: must be a whole number from 1 to 64, got '0'");
  refused(run.uniform({"--seeds", "65"}), "from 1 to 64, got '65'");
  refused(run.uniform({"--trace", "-"}), "--trace: shows one run, and --compare makes many");
  refused(run.uniform({"--seeds", "1", "--sensitivity"}),
          "--sensitivity: one seed gives no verdict that could survive");
  refused(run.uniform({"--set", "parallel.scale=[{at_step: 30, ranks: 4}]", "--set",
                       "eplb.use_async=false", "--set", "run.compare_off=false"}),
          "--compare: an elastic group cannot run without EPLB");
  const std::string configs = std::string(EPLB_SOURCE_DIR) + "/configs";
  refused(test::run_eplb({"sim", configs + "/scenarios/hangs/nccl-against-deepep.yaml", "--configs",
                          configs, "--compare"}),
          "--compare: a program serves nothing that EPLB could speed up");
}

}  // namespace
}  // namespace eplb
