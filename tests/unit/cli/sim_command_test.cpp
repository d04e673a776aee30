// Goal: `eplb sim` keeps its contract with programs: keys, their order, exit codes, the same bytes
// for the same configuration. Method: whole runs of a tiny scenario that needs no other file.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "run_eplb.hpp"
#include "scenario_file.hpp"
#include "temp_folder.hpp"

namespace eplb {
namespace {

using Json = nlohmann::ordered_json;
using Keys = std::vector<std::string>;

Keys keys_of(const Json& object) {
  Keys keys;
  for (const auto& item : object.items()) {
    keys.push_back(item.key());
  }
  return keys;
}

/// Runs of `eplb sim` on the tiny scenario.
class SimRun {
 public:
  [[nodiscard]] test::Outcome sim(std::vector<std::string> options = {}) const {
    options.insert(options.begin(), {"sim", file_});
    return test::run_eplb(options);
  }

  /// The JSON of a run that must succeed, without the wall time.
  [[nodiscard]] Json json(std::vector<std::string> options = {}) const {
    options.insert(options.end(), {"--json", "-"});
    const test::Outcome outcome = sim(options);
    CHECK(outcome.code == 0);
    Json json = Json::parse(outcome.out, nullptr, false);
    json.erase("wall_s");
    return json;
  }

 private:
  test::TempFolder folder_;
  std::string file_ = folder_.write("tiny.yaml", test::kScenario).string();
};

TEST_CASE("sim writes the keys of its contract in their order") {
  const test::Outcome outcome = SimRun().sim({"--json", "-"});
  REQUIRE(outcome.code == 0);
  const Json json = Json::parse(outcome.out);
  CHECK(keys_of(json) == Keys{"schema", "version", "seed", "config_digest", "steps", "simulated_s",
                              "wall_s", "throughput_tokens_per_s", "step_ms", "breakdown_ms",
                              "balancedness", "holds", "commits", "memory_bytes", "baseline",
                              "rearrangements", "hang", "hazards", "digest"});
  CHECK(keys_of(json["step_ms"]) == Keys{"mean", "p50", "p99"});
  CHECK(keys_of(json["breakdown_ms"]) == Keys{"mega_moe", "others", "idle", "eplb"});
  CHECK(keys_of(json["balancedness"]) == Keys{"mean", "min_layer", "before", "after"});
  CHECK(keys_of(json["holds"]) == Keys{"count", "ms"});
  CHECK(keys_of(json["commits"]) == Keys{"count", "ms"});
  CHECK(keys_of(json["memory_bytes"]) == Keys{"weights", "redundant", "landing", "maps"});
  CHECK(keys_of(json["baseline"]) == Keys{"throughput_tokens_per_s", "step_ms", "balancedness"});
  REQUIRE(json["rearrangements"].size() == 3);
  CHECK(keys_of(json["rearrangements"][0]) ==
        Keys{"start_step", "end_step", "duration_ms", "wire_ms", "moved_experts", "bytes"});
  CHECK(json["schema"] == "eplb.sim/1");
  CHECK(json["steps"] == 60);
  CHECK(json["hang"] == nullptr);
}

TEST_CASE("with a trigger each rearrangement says which layers were let through, and why") {
  const SimRun run;
  const Json declined = run.json({"--set", "eplb.trigger.price=1000000"})["rearrangements"];
  REQUIRE(declined.size() == 3);
  for (const Json& entry : declined) {
    CHECK(keys_of(entry) == Keys{"start_step", "end_step", "duration_ms", "wire_ms",
                                 "moved_experts", "bytes", "trigger"});
    const Json& trigger = entry["trigger"];
    CHECK(keys_of(trigger) == Keys{"proposed_layers", "migrated_layers", "declined_layers",
                                   "cooling_layers", "gain_ms", "price_ms", "declined_gain_ms",
                                   "declined_price_ms"});
    CHECK(entry["moved_experts"] == 0);
    CHECK(trigger["proposed_layers"] == 1);
    CHECK(trigger["declined_layers"] == 1);
    CHECK(trigger["gain_ms"] == 0.0);
    CHECK(trigger["declined_price_ms"] > trigger["declined_gain_ms"]);
  }
  const Json first =
      run.json({"--set", "eplb.trigger={}", "--set", "serving.requests_per_rank=4096", "--set",
                "run.seed=2"})["rearrangements"][0];
  CHECK(first["trigger"]["migrated_layers"] == 1);
  CHECK(first["trigger"]["declined_layers"] == 0);
  CHECK(first["trigger"]["gain_ms"] > first["trigger"]["price_ms"]);
  CHECK(first["moved_experts"] > 0);
}

TEST_CASE("a table says what the trigger let through, and nothing does without a trigger") {
  const SimRun run;
  const std::string weighed = run.sim({"--set", "eplb.trigger.price=1000000"}).out;
  CHECK(weighed.find("trigger at step  proposed  migrated  stayed") != std::string::npos);
  CHECK(weighed.find("\n4                       1         0       1      0.00") !=
        std::string::npos);
  CHECK(weighed.find("\nall                     3         0       3      0.00") !=
        std::string::npos);
  CHECK(run.sim().out.find("trigger") == std::string::npos);
}

TEST_CASE("by shares, the exact split's reach stands beside the run, in the table and in JSON") {
  constexpr const char* kLine =
      "\nthe exact split of each forward over the same replicas: balancedness ";
  const SimRun run;
  const Json json = run.json({"--set", "eplb.replica_choice=shares"});
  const double exact = json["balancedness"]["exact_split"];
  CHECK(exact > json["balancedness"]["mean"].get<double>());
  CHECK(exact <= 1);
  const std::string table = run.sim({"--set", "eplb.replica_choice=shares"}).out;
  const std::size_t line = table.find(kLine);
  REQUIRE(line != std::string::npos);
  const std::string figure = table.substr(line + std::string(kLine).size(), 6);
  CHECK(std::stod(figure) == doctest::Approx(exact).epsilon(1e-4));
  // A run by the exact split is what it says itself; even choices are not asked.
  const Json split = run.json({"--set", "eplb.replica_choice=exact"})["balancedness"];
  CHECK(split["exact_split"] == split["mean"]);
  CHECK(run.sim().out.find("exact split") == std::string::npos);
  CHECK_FALSE(run.json()["balancedness"].contains("exact_split"));
}

TEST_CASE("where the group spans NVLink domains, the rows over the network stand in the table") {
  const SimRun run;
  const std::vector<std::string> apart{"--set", "hardware.gpus_per_domain=1", "--set",
                                       "hardware.gpus_per_node=1"};
  CHECK(run.json(apart)["network_share"] == 0.5);
  CHECK(run.sim(apart).out.find("\nrows over the network, %") != std::string::npos);
  std::vector<std::string> nearest = apart;
  nearest.insert(nearest.end(), {"--set", "eplb.replica_choice=nearest"});
  CHECK(run.json(nearest)["network_share"].get<double>() < 0.45);
  CHECK_FALSE(run.json().contains("network_share"));
  CHECK(run.sim().out.find("over the network") == std::string::npos);
}

TEST_CASE("sim gives the same bytes twice, and others for another seed") {
  const SimRun run;
  const std::string first = run.json().dump();
  CHECK(run.json().dump() == first);
  CHECK(run.json({"--set", "run.seed=2"})["digest"] != run.json()["digest"]);
}

TEST_CASE("sim's baseline is the run without EPLB, token for token") {
  const SimRun run;
  const Json with_baseline = run.json();
  const Json without = run.json({"--set", "eplb.enabled=false"});
  CHECK(without["baseline"] == nullptr);
  CHECK(with_baseline["baseline"]["step_ms"] == without["step_ms"]);
  CHECK(with_baseline["baseline"]["throughput_tokens_per_s"] == without["throughput_tokens_per_s"]);
  CHECK(without["rearrangements"].empty());
  CHECK(without["memory_bytes"]["redundant"] == 0);
  CHECK(without["balancedness"]["after"] == nullptr);
}

TEST_CASE("sim moves nothing under a policy that never changes the placement") {
  const Json json = SimRun().json({"--set", "eplb.policy=linear"});
  CHECK(json["rearrangements"].empty());
  CHECK(json["commits"]["count"] == 0);
}

TEST_CASE("sim takes a policy with options, and says which it does not know") {
  const test::TempFolder folder;
  const std::string file = folder.write("tiny.yaml", test::kScenario).string();
  CHECK(test::run_eplb({"sim", file, "--set", "eplb.policy=default:windows=1"}).code == 0);
  const test::Outcome outcome =
      test::run_eplb({"sim", file, "--set", "eplb.policy=default:window=1"});
  CHECK(outcome.code == 2);
  CHECK(outcome.err.find("error: eplb.policy: policy 'default': ") != std::string::npos);
  CHECK(outcome.err.find("windows") != std::string::npos);
}

TEST_CASE("sim prints a table for people, with the change against the baseline") {
  const test::Outcome outcome = SimRun().sim();
  CHECK(outcome.code == 0);
  CHECK(outcome.out.find("tiny: 1 layers of 8 + 2 experts on 2 ranks of round figures") !=
        std::string::npos);
  CHECK(outcome.out.find("without") != std::string::npos);
  CHECK(outcome.out.find("throughput, tokens/s") != std::string::npos);
  CHECK(outcome.err.empty());
}

TEST_CASE("sim reports every mistake of a configuration and exits with 2") {
  const test::TempFolder folder;
  std::string text = test::kScenario;
  text += "runs: 1\n";
  const std::string file = folder.write("bad.yaml", text).string();
  const test::Outcome outcome =
      test::run_eplb({"sim", file, "--set", "eplb.window_size=0", "--set", "eplb.policy=best"});
  CHECK(outcome.code == 2);
  CHECK(outcome.out.empty());
  CHECK(outcome.err.find("error: runs: unknown key, did you mean run?") != std::string::npos);
  CHECK(outcome.err.find("--set eplb.window_size=0: error: eplb.window_size: must be at least 1") !=
        std::string::npos);
  CHECK(outcome.err.find("unknown policy best") != std::string::npos);
}

TEST_CASE("sim without a configuration, with one that is not there, or with a wrong option") {
  CHECK(test::run_eplb({"sim"}).code == 2);
  CHECK(test::run_eplb({"sim", "nowhere.yaml"}).code == 2);
  CHECK(SimRun().sim({"--jsom", "-"}).code == 2);
  CHECK(SimRun().sim({"--json", "no/such/folder/out.json"}).code == 2);
}

}  // namespace
}  // namespace eplb
