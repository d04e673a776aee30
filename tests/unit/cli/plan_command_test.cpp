// Goal: `eplb plan` reports the figures that its definitions give, in a form that stays, and turns
// every wrong input into a message and exit code 2. Method: whole runs on small loads; the policy
// `linear` (slot p holds expert p mod E) makes every figure computable by hand.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "run_eplb.hpp"
#include "temp_folder.hpp"

namespace eplb {
namespace {

using Json = nlohmann::ordered_json;

/// A folder with loads in it, and runs of `eplb plan` on them.
class PlanRun {
 public:
  explicit PlanRun(const std::string& counts)
      : loads_(folder_.write("loads.json", "{\"logical_count\": " + counts + "}").string()) {}

  [[nodiscard]] const std::string& loads() const { return loads_; }

  [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
    return folder_.write(name, text).string();
  }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_.path() / name).string();
  }

  [[nodiscard]] test::Outcome plan(const std::vector<std::string>& options) const {
    std::vector<std::string> arguments{"plan", "--loads", loads_};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return test::run_eplb(arguments);
  }

  /// The JSON of a run that must succeed; null if it does not.
  [[nodiscard]] Json json(std::vector<std::string> options) const {
    options.insert(options.end(), {"--json", "-"});
    const test::Outcome outcome = plan(options);
    CHECK(outcome.code == 0);
    return Json::parse(outcome.out, nullptr, false);
  }

 private:
  test::TempFolder folder_;
  std::string loads_;
};

/// What `eplb plan` says about a line that it must refuse.
std::string refusal(const test::Outcome& outcome) {
  CHECK(outcome.code == 2);
  CHECK(outcome.out.empty());
  return outcome.err;
}

std::string with_hint(const std::string& problem) {
  return "eplb plan: error: " + problem + "\nSee 'eplb plan --help'.\n";
}

// 4 experts and 2 redundant slots on 2 ranks. Linear: rank 0 holds 0, 1, 2; rank 1 holds 3, 0, 1.
// Even split: rank 0 gets 10/2 + 1/2 + 2 = 7.5, rank 1 gets 7 + 10/2 + 1/2 = 12.5; mean 10.
constexpr const char* kCounts = "[[10, 1, 2, 7]]";
const std::vector<std::string> kTwoRanks{"--ranks", "2", "--redundant", "2", "--policy", "linear"};

std::vector<std::string> two_ranks_and(const std::vector<std::string>& more) {
  std::vector<std::string> options = kTwoRanks;
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

TEST_CASE("plan reports the figures of its definitions") {
  const Json json = PlanRun(kCounts).json(kTwoRanks);
  CHECK(json["schema"] == "eplb.plan/1");
  CHECK(json["physical_to_logical_map"] == Json{{0, 1, 2, 3, 0, 1}});
  CHECK(json["balancedness"] == 0.8);
  CHECK(json["balancedness_hashed"] == 0.8);
  CHECK(json["imbalance"]["mean"] == 1.25);
  CHECK(json["imbalance"]["max_layer"] == 1.25);
  CHECK(json["bound"] == 10.0);
  CHECK(json["regret"] == 1.25);
  CHECK(json["bound_split"].get<double>() == doctest::Approx(10.0).epsilon(1e-9));
  CHECK(json["duplicates"] == 0);
  CHECK(json["moved_experts"] == 0);
  CHECK(json["plan_ms"].get<double>() >= 0);
}

TEST_CASE("plan writes its JSON keys in the order of schema eplb.plan/1") {
  const Json json = PlanRun(kCounts).json(kTwoRanks);
  std::vector<std::string> keys;
  for (const auto& item : json.items()) {
    keys.push_back(item.key());
  }
  CHECK(keys == std::vector<std::string>{"schema", "physical_to_logical_map", "balancedness",
                                         "balancedness_hashed", "imbalance", "bound", "regret",
                                         "bound_split", "duplicates", "moved_experts", "plan_ms"});
  CHECK(json["imbalance"].dump() == R"({"mean":1.25,"max_layer":1.25})");
}

TEST_CASE("plan adds up all windows, and averages over layers") {
  // Two windows that sum to kCounts in layer 0 and to nothing in layer 1.
  const Json json =
      PlanRun("[[[4, 1, 0, 7], [0, 0, 0, 0]], [[6, 0, 2, 0], [0, 0, 0, 0]]]").json(kTwoRanks);
  CHECK(json["physical_to_logical_map"] == Json{{0, 1, 2, 3, 0, 1}, {0, 1, 2, 3, 0, 1}});
  CHECK(json["balancedness"] == 0.8);
  CHECK(json["imbalance"]["mean"] == 1.25);
  CHECK(json["bound"] == 5.0);
  CHECK(json["regret"] == 1.25);
  CHECK(json["bound_split"].get<double>() == doctest::Approx(5.0).epsilon(1e-9));
}

TEST_CASE("the bound is the largest replica where one expert has nearly all load") {
  // Six slots, four experts: 90 splits into 30 at best, while the mean over 3 ranks is 31 / 3
  // of 93.
  const Json json =
      PlanRun("[[90, 1, 1, 1]]").json({"--ranks", "6", "--redundant", "2", "--policy", "linear"});
  CHECK(json["bound"] == 30.0);
  // Linear gives expert 0 two replicas, on ranks of their own: 45 each.
  CHECK(json["regret"] == 1.5);
  CHECK(json["bound_split"].get<double>() == doctest::Approx(45.0).epsilon(1e-9));
}

TEST_CASE("the hashed balancedness follows the rows of a step") {
  const PlanRun run(kCounts);
  // With one row a rank the published hash always picks replica 0: 10 + 1 + 2 against 7.
  CHECK(run.json(two_ranks_and({"--tokens-per-rank", "1"}))["balancedness_hashed"] == 10.0 / 13);
  // Two replicas are round robin over rows: of three rows two go to replica 0.
  const double rank_0 = 10 * (2.0 / 3) + 1 * (2.0 / 3) + 2;
  CHECK(run.json(two_ranks_and({"--tokens-per-rank", "3"}))["balancedness_hashed"].get<double>() ==
        doctest::Approx(10 / std::max(rank_0, 20 - rank_0)).epsilon(1e-12));
  CHECK(run.json(two_ranks_and({"--tokens-per-rank", "1"}))["balancedness"] == 0.8);
}

TEST_CASE("moves are counted from the current placement, and its JSON may be the plan's own") {
  const PlanRun run(kCounts);
  const std::string current =
      run.write("current.json", R"({"physical_to_logical_map": [[3, 0, 0, 0, 1, 2]]})");
  // Rank 0 lacks experts 1 and 2, rank 1 lacks expert 3.
  CHECK(run.json(two_ranks_and({"--current", current}))["moved_experts"] == 3);

  const std::string saved = run.path("plan.json");
  CHECK(run.plan(two_ranks_and({"--json", saved})).code == 0);
  CHECK(run.json(two_ranks_and({"--current", saved}))["moved_experts"] == 0);
}

TEST_CASE("the table shows what the JSON holds, and names what moves are counted from") {
  const PlanRun run(kCounts);
  const auto outcome = run.plan(kTwoRanks);
  CHECK(outcome.code == 0);
  CHECK(outcome.err.empty());
  const std::string timeless = outcome.out.substr(0, outcome.out.find("plan_ms"));
  CHECK(timeless ==
        "1 layer of 4 experts, 2 redundant, on 2 ranks of 1 node, policy linear\n"
        "load: 1 window of " +
            run.loads() +
            "\n\n"
            "balancedness         0.8000  mean / largest rank load, even split over replicas; 1 is "
            "perfect\n"
            "balancedness_hashed  0.8000  the same under the published hash, 128 rows a rank\n"
            "imbalance            1.2500  largest / mean rank load, mean over layers; worst layer "
            "1.2500\n"
            "bound                  10.0  tokens on the busiest rank that no placement can "
            "undercut\n"
            "regret               1.2500  largest rank load / bound, mean over layers; 1 cannot be "
            "beaten\n"
            "bound_split            10.0  tokens on the busiest rank if the replicas shared in the "
            "best way\n"
            "duplicates                0  no rank holds an expert twice\n"
            "moved_experts             0  of 6 slots are new to their rank since the initial "
            "placement (slot p holds p mod E)\n");

  const std::string current =
      run.write("current.json", R"({"physical_to_logical_map": [[3, 0, 0, 0, 1, 2]]})");
  CHECK(run.plan(two_ranks_and({"--current", current}))
            .out.find("3  of 6 slots are new to their rank since " + current + "\n") !=
        std::string::npos);
}

TEST_CASE("duplicates are explained") {
  // Expert 0 gets five of the six slots, three of a rank's and two of the other's.
  const auto three = PlanRun("[[10, 1]]").plan({"--ranks", "2", "--redundant", "4"});
  CHECK(three.out.find("duplicates                3  3 slots hold a second copy of an expert that "
                       "its rank already has\n") != std::string::npos);
  const auto one = PlanRun("[[10, 1]]").plan({"--ranks", "1", "--redundant", "1"});
  CHECK(one.out.find("duplicates                1  1 slot holds a second copy of an expert that "
                     "its rank already has\n") != std::string::npos);
}

TEST_CASE("without load the placement stays, and a note says so") {
  const PlanRun run("[[0, 0, 0]]");
  const std::vector<std::string> options{"--ranks", "2", "--redundant", "1", "--json", "-"};
  const auto initial = run.plan(options);
  CHECK(initial.code == 0);
  CHECK(initial.err ==
        "eplb plan: warning: there is no load at all; the placement stays as it was\n");
  CHECK(initial.out ==
        R"({"schema":"eplb.plan/1","physical_to_logical_map":[[0,1,2,0]],"balancedness":0.0,)"
        R"("balancedness_hashed":0.0,"imbalance":{"mean":0.0,"max_layer":0.0},"bound":0.0,)"
        R"("regret":0.0,"bound_split":0.0,"duplicates":0,"moved_experts":0,"plan_ms":0.0})"
        "\n");

  std::vector<std::string> with_current = options;
  with_current.insert(
      with_current.end(),
      {"--current", run.write("c.json", R"({"physical_to_logical_map": [[2, 1, 0, 2]]})")});
  const Json kept = Json::parse(run.plan(with_current).out);
  CHECK(kept["physical_to_logical_map"] == Json{{2, 1, 0, 2}});
  CHECK(kept["moved_experts"] == 0);
}

TEST_CASE("the same input gives the same bytes, but for the time") {
  const PlanRun run("[[[5, 9, 1, 7, 3, 8], [4, 4, 2, 9, 1, 6]]]");
  for (const std::string policy : {"default", "deepseek", "trtllm", "linear"}) {
    CAPTURE(policy);
    const std::vector<std::string> options{"--ranks",  "4",    "--redundant", "2",
                                           "--policy", policy, "--json",      "-"};
    const auto timeless = [&] {
      const auto outcome = run.plan(options);
      CHECK(outcome.code == 0);
      return outcome.out.substr(0, outcome.out.find("\"plan_ms\""));
    };
    const std::string first = timeless();
    CHECK(first.size() > 200);
    CHECK(timeless() == first);
  }
}

TEST_CASE("JSON to the standard output is alone there, JSON to a file comes beside the table") {
  const PlanRun run(kCounts);
  const auto to_stdout = run.plan(two_ranks_and({"--json", "-"}));
  CHECK(to_stdout.out.starts_with("{\"schema\":\"eplb.plan/1\","));
  CHECK(to_stdout.out.ends_with("}\n"));
  const std::string file = run.path("plan.json");
  const auto to_file = run.plan(two_ranks_and({"--json", file}));
  CHECK(to_file.out.starts_with("1 layer of 4 experts"));
  CHECK(Json::parse(test::read_file(file))["bound"] == 10.0);
}

TEST_CASE("nodes that do not divide the ranks count as one, with a warning") {
  const PlanRun run("[[5, 9, 1, 7]]");
  const auto outcome = run.plan({"--ranks", "4", "--redundant", "0", "--nodes", "3"});
  CHECK(outcome.code == 0);
  CHECK(outcome.err ==
        "eplb plan: warning: 4 ranks cannot be divided over 3 nodes; planning for 1 node\n");
  CHECK(outcome.out.find("on 4 ranks of 1 node, policy default") != std::string::npos);
  const auto fits = run.plan({"--ranks", "4", "--redundant", "0", "--nodes", "2"});
  CHECK(fits.err.empty());
  CHECK(fits.out.find("on 4 ranks of 2 nodes, policy default") != std::string::npos);
}

TEST_CASE("plan reports all wrong options in one go") {
  CHECK(refusal(test::run_eplb({"plan", "--ranks", "0", "--redundant", "x", "--nodes", "-1",
                                "--groups", "1.5", "--tokens-per-rank", "0"})) ==
        "eplb plan: error: --loads: is missing\n"
        "eplb plan: error: --ranks: must be a whole number from 1 to 2147483647, got '0'\n"
        "eplb plan: error: --redundant: must be a whole number from 0 to 1023, got 'x'\n"
        "eplb plan: error: --nodes: must be a whole number from 1 to 2147483647, got '-1'\n"
        "eplb plan: error: --groups: must be a whole number from 1 to 2147483647, got '1.5'\n"
        "eplb plan: error: --tokens-per-rank: must be a whole number from 1 to 1048576, got '0'\n"
        "See 'eplb plan --help'.\n");
  CHECK(refusal(test::run_eplb({"plan"})) ==
        "eplb plan: error: --loads: is missing\n"
        "eplb plan: error: --ranks: is missing\n"
        "eplb plan: error: --redundant: is missing\n"
        "See 'eplb plan --help'.\n");
}

TEST_CASE("plan refuses options that it does not know, and options given twice") {
  const PlanRun run(kCounts);
  CHECK(refusal(run.plan(two_ranks_and({"--node", "2"}))) ==
        with_hint("unknown option '--node'; did you mean '--nodes'?"));
  CHECK(refusal(run.plan(two_ranks_and({"--ranks", "4"}))) ==
        with_hint("--ranks: is given more than once"));
  CHECK(refusal(run.plan(two_ranks_and({"extra"}))) == with_hint("unexpected argument 'extra'"));
  CHECK(refusal(run.plan(two_ranks_and({"--json", ""}))) == with_hint("--json: must not be empty"));
  CHECK(refusal(run.plan({"--ranks", "2", "--redundant", "1024"})) ==
        with_hint("--redundant: must be a whole number from 0 to 1023, got '1024'"));
}

TEST_CASE("a policy that nobody knows is refused with those that there are") {
  const std::string message =
      refusal(PlanRun(kCounts).plan({"--ranks", "2", "--redundant", "2", "--policy", "fastest"}));
  CHECK(message.starts_with("eplb plan: error: --policy: unknown policy 'fastest'"));
  CHECK(message.find("deepseek, default") != std::string::npos);
}

TEST_CASE("sizes that do not divide are refused with what would") {
  const PlanRun run(kCounts);
  const std::string nearest = refusal(run.plan({"--ranks", "3", "--redundant", "1"}));
  CHECK(nearest.starts_with(
      "eplb plan: error: 4 experts + 1 redundant cannot be divided over 3 ranks; "));
  CHECK(nearest.ends_with(" legal redundancy is 2\n"));
  CHECK(refusal(run.plan({"--ranks", "2", "--redundant", "2", "--groups", "3"})) ==
        "eplb plan: error: 4 experts cannot be divided into 3 groups\n");
}

TEST_CASE("what is wrong with a file is said with its place") {
  const PlanRun run("[[10, -1]]");
  CHECK(refusal(run.plan(kTwoRanks)) ==
        run.loads() +
            ":1:25: error: logical_count[0][1]: must be a finite number that is not negative, "
            "got -1\n");

  const PlanRun sound(kCounts);
  const std::string missing = sound.path("none.json");
  CHECK(refusal(test::run_eplb({"plan", "--loads", missing, "--ranks", "2", "--redundant", "2"})) ==
        missing + ": error: cannot be read: No such file or directory\n");

  const std::string other =
      sound.write("other.json", R"({"physical_to_logical_map": [[0, 1, 2, 3]]})");
  CHECK(refusal(sound.plan(two_ranks_and({"--current", other}))) ==
        other +
            ": error: physical_to_logical_map: has shape [1, 4] where [layers, slots] must be "
            "[1, 6]\n");
}

TEST_CASE("a result that cannot be written is refused before planning, and leaves nothing") {
  const PlanRun run(kCounts);
  const std::string nowhere = run.path("none/plan.json");
  CHECK(refusal(run.plan(two_ranks_and({"--json", nowhere}))) ==
        nowhere + ": error: cannot be written: No such file or directory\n");

  const PlanRun wrong("[[1, 2], [3]]");
  const std::string target = wrong.path("plan.json");
  CHECK(wrong.plan(two_ranks_and({"--json", target})).code == 2);
  CHECK_FALSE(std::filesystem::exists(target));

  CHECK(run.plan(two_ranks_and({"--json", "/dev/full"})).code == 2);
}

}  // namespace
}  // namespace eplb
