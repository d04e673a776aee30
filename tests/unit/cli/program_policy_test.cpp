// Goal: a policy that is somebody else's program plans as one of ours does, and whatever it does
// wrong ends in a message and no wait. Method: the Python example of the documents, held against
// the policy that it copies, through the commands; shell scripts that die, babble, stay silent, or
// answer another shape.
#include "program_policy.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "policies.hpp"
#include "run_eplb.hpp"
#include "temp_folder.hpp"

namespace eplb {
namespace {

constexpr const char* kConfigs = EPLB_SOURCE_DIR "/configs";
constexpr const char* kQuickstart = EPLB_SOURCE_DIR "/configs/quickstart.yaml";

using cli::ProgramPolicy;
using Json = nlohmann::ordered_json;

const std::string kExample = std::string("program:") + EPLB_SOURCE_DIR + "/docs/plugins/greedy.py";

constexpr const char* kTrace =
    R"({"logical_count": [[[1, 1, 1, 1], [0, 0, 0, 0]], [[1, 1, 1, 1], [9, 1, 1, 3]],)"
    R"( [[1, 1, 1, 1], [9, 1, 7, 1]], [[2, 1, 1, 1], [5, 5, 5, 5]],)"
    R"( [[10, 1, 2, 7], [9, 1, 1, 3]], [[4, 4, 4, 4], [0, 0, 3, 1]]]})";

constexpr Shape kShape{
    .layer_count = 2, .expert_count = 4, .redundant_slot_count = 2, .rank_count = 2};

/// A shell script that is a policy.
class Script {
 public:
  explicit Script(const std::string& body)
      : file_(folder_.write("policy.sh", "#!/bin/sh\n" + body)) {
    std::filesystem::permissions(file_, std::filesystem::perms::owner_all);
  }

  /// What stands for the script in messages.
  [[nodiscard]] std::string path() const { return file_.string(); }

  [[nodiscard]] ProgramPolicy policy(double patience_s = 20) const {
    return ProgramPolicy(
        {.words = {path()}, .patience = std::chrono::duration<double>(patience_s)});
  }

 private:
  test::TempFolder folder_;
  std::filesystem::path file_;
};

struct Problem {
  Topology topology =
      Topology::create({.rank_count = 2, .ranks_per_node = 2, .ranks_per_domain = 2}).value();
  std::vector<RealLoadMatrix> history{RealLoadMatrix::Constant(2, 4, 3.5)};
  Placement current = Placement::initial(kShape);

  [[nodiscard]] Result<Placement> place(const PlacementPolicy& policy) const {
    return policy.place({.shape = kShape,
                         .topology = topology,
                         .history = history,
                         .window_part_count = 1,
                         .current = &current,
                         .costs = {}});
  }

  /// What the script's policy is refused with, its path left out.
  [[nodiscard]] std::string refusal(const Script& script, double patience_s = 20) const {
    const auto placed = place(script.policy(patience_s));
    REQUIRE_FALSE(placed.has_value());
    std::string message = placed.error().message;
    for (std::size_t at = message.find(script.path()); at != std::string::npos;
         at = message.find(script.path())) {
      message.replace(at, script.path().size(), "X");
    }
    return message;
  }
};

constexpr const char* kAnswer = R"({"physical_to_logical_map": [[0,1,2,3,0,1],[3,2,1,0,3,2]]})";

std::string answering(const std::string& answer) {
  return "while read -r line; do echo '" + answer + "'; done\n";
}

std::vector<std::int32_t> occupants(const Placement& placement, std::int32_t layer) {
  std::vector<std::int32_t> experts;
  for (const LogicalExpertId expert : placement.layer(LayerId{layer}).occupants()) {
    experts.push_back(expert.value);
  }
  return experts;
}

TEST_CASE("the documents' example plans what the policy that it copies plans") {
  const test::TempFolder folder;
  const std::string loads = folder.write("trace.json", kTrace).string();
  const auto planned = [&](const std::string& policy) {
    const test::Outcome outcome =
        test::run_eplb({"plan", "--loads", loads, "--ranks", "3", "--redundant", "5", "--policy",
                        policy, "--json", "-"});
    CHECK(outcome.err == "");
    REQUIRE(outcome.code == 0);
    return Json::parse(outcome.out)["physical_to_logical_map"];
  };
  CHECK(planned(kExample) == planned("trtllm"));

  const test::Outcome scored =
      test::run_eplb({"score", "--loads", loads, "--ranks", "2", "--redundant", "2", "--policy",
                      "trtllm," + kExample + ",deadline_s=30", "--json", "-"});
  CHECK(scored.err == "");
  REQUIRE(scored.code == 0);
  Json results = Json::parse(scored.out)["results"];
  REQUIRE(results.size() == 2);
  CHECK(results[1]["policy"] == kExample + ",deadline_s=30");
  for (Json& result : results) {
    result.erase("policy");
    result.erase("plan_ms");
  }
  CHECK(results[0] == results[1]);
}

TEST_CASE("the example serves in the simulator as the policy that it copies does") {
  const auto simulated = [](const std::string& policy) {
    const test::Outcome outcome =
        test::run_eplb({"sim", kQuickstart, "--configs", kConfigs, "--set", "run.steps=300",
                        "--set", "eplb.step_interval=120", "--set", "eplb.window_size=60", "--set",
                        "run.compare_off=false", "--set", "eplb.policy=" + policy, "--json", "-"});
    CHECK(outcome.err == "");
    REQUIRE(outcome.code == 0);
    Json json = Json::parse(outcome.out);
    CHECK(json["rearrangements"].size() >= 2);
    json.erase("wall_s");
    json.erase("config_digest");
    json.erase("digest");  // The settings' digest has the policy's name in it.
    return json;
  };
  CHECK(simulated(kExample) == simulated("trtllm"));
}

TEST_CASE("a program is asked in one line of what it needs, and started once") {
  const test::TempFolder folder;
  const std::string log = (folder.path() / "log").string();
  const Script script("echo started >> " + log + "\nwhile read -r line; do echo \"$line\" >> " +
                      log + "; echo '" + kAnswer + "'; done\n");
  const Problem problem;
  {
    const ProgramPolicy policy = script.policy();
    for (int plan = 0; plan < 2; ++plan) {
      const auto placed = problem.place(policy);
      REQUIRE(placed.has_value());
      CHECK(occupants(*placed, 1) == std::vector<std::int32_t>{3, 2, 1, 0, 3, 2});
    }
  }
  std::ifstream file(log);
  std::string line;
  std::getline(file, line);
  CHECK(line == "started");
  std::getline(file, line);
  CHECK(line ==
        R"({"schema":"eplb.policy/1","request":0,"shape":{"layers":2,"experts":4,"slots":6,)"
        R"("ranks":2,"nodes":1,"expert_groups":1},"window_parts":1,"window_steps":0.0,)"
        R"("history":[[[3.5,3.5,3.5,3.5],[3.5,3.5,3.5,3.5]]],)"
        R"("current":[[0,1,2,3,0,1],[0,1,2,3,0,1]],"move_ns_per_expert":0.0})");
  std::getline(file, line);
  CHECK(Json::parse(line)["request"] == 1);
  CHECK_FALSE(std::getline(file, line));
}

TEST_CASE("a program that dies says how, with its last words, and the next plan starts it anew") {
  const Problem problem;
  CHECK(problem.refusal(Script("read -r line; echo trouble >&2; echo no luck >&2; exit 3\n")) ==
        "policy program: X ended with exit code 3 before it answered; its last words: no luck");
  CHECK(problem.refusal(Script("exit 0\n")) ==
        "policy program: X ended with exit code 0 before it answered");
  CHECK(problem.refusal(Script("read -r line; kill -9 $$\n")) ==
        "policy program: X was ended by signal 9 (Killed) before it answered");

  const test::TempFolder folder;
  const std::string mark = (folder.path() / "mark").string();
  const Script second("[ -e " + mark + " ] || { touch " + mark + "; exit 1; }\n" +
                      answering(kAnswer));
  const ProgramPolicy policy = second.policy();
  CHECK_FALSE(problem.place(policy).has_value());
  CHECK(problem.place(policy).has_value());
}

TEST_CASE("a program that is silent is given up at its deadline, with what it has started") {
  const Problem problem;
  const auto begin = std::chrono::steady_clock::now();
  CHECK(problem.refusal(Script("sleep 600 & sleep 600\n"), 0.3) ==
        "policy program: X has not answered within 0.3 s");
  CHECK(problem.refusal(Script("read -r line; printf '{'; sleep 600\n"), 0.3) ==
        "policy program: X has not answered within 0.3 s");
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(20));
  const auto placed = problem.place(Script("sleep 600\n").policy(0.1));
  CHECK(placed.error().code == ErrorCode::kTimeout);
}

// A request beyond a pipe's 64 KB: what cannot be written must neither block nor raise SIGPIPE.
TEST_CASE("a program that does not read what it is asked ends in a message too") {
  Problem problem;
  problem.history.assign(4000, RealLoadMatrix::Constant(2, 4, 1.25));
  CHECK(problem.refusal(Script("exec <&-; exit 4\n")) ==
        "policy program: X ended with exit code 4 before it answered");
  CHECK(problem.refusal(Script("sleep 600\n"), 0.3) ==
        "policy program: X has not answered within 0.3 s");
  const auto placed = problem.place(Script(answering(kAnswer)).policy());
  CHECK(placed.has_value());
}

TEST_CASE("an answer that is no placement of this shape is refused with its place in the line") {
  const Problem problem;
  const auto refused = [&](const std::string& answer) {
    return problem.refusal(Script(answering(answer)));
  };
  const auto has = [](const std::string& text, const std::string& part) {
    INFO(text);
    return text.find(part) != std::string::npos;
  };
  CHECK(has(refused("hello"), "policy program: answer of X:1:1: error: "));
  CHECK(has(refused(""), "policy program: answer of X:1:1: error: "));
  CHECK(has(refused(R"({"placement": []})"), "physical_to_logical_map"));
  CHECK(has(refused(R"({"physical_to_logical_map": [[0,1,2,3,0,1]]})"),
            "has shape [1, 6] where [layers, slots] must be [2, 6]"));
  CHECK(has(refused(R"({"physical_to_logical_map": [[0,1,2,3,0],[0,1,2,3,0]]})"),
            "has shape [2, 5] where [layers, slots] must be [2, 6]"));
  CHECK(has(refused(R"({"physical_to_logical_map": [[0,1,2,4,0,1],[0,1,2,3,0,1]]})"),
            "a whole number from 0 to 3"));
  CHECK(has(refused(R"({"physical_to_logical_map": [[0,1,2,3,0,1],[0,1,2,2,0,1]]})"),
            "physical_to_logical_map[1]"));
  CHECK(refused(R"({"error": "six slots are too few for me"})") ==
        "policy program: X refuses: six slots are too few for me");
}

TEST_CASE("more than one line an answer is noticed at the next plan") {
  const Problem problem;
  const Script script("while read -r line; do echo '" + std::string(kAnswer) +
                      "'; echo done; done\n");
  const ProgramPolicy policy = script.policy();
  REQUIRE(problem.place(policy).has_value());
  // The second line may still be on its way, and is then taken for the next answer.
  auto placed = problem.place(policy);
  placed = placed ? problem.place(policy) : placed;
  REQUIRE_FALSE(placed.has_value());
  CHECK(placed.error().message.starts_with("policy program: "));
}

TEST_CASE("a program that is not there, and options that are none, are refused") {
  const Problem problem;
  const ProgramPolicy absent({.words = {"/nowhere/policy"}});
  CHECK(problem.place(absent).error().message ==
        "policy program: /nowhere/policy cannot be started: No such file or directory");
  const auto refused = [](const std::string& spec) {
    const auto made = cli::known_policies().make(spec);
    return made ? std::string() : made.error().message;
  };
  CHECK(refused("program:./a.py --alpha=2 b,deadline_s=3") == "");
  CHECK(refused("program") == "policy 'program' needs a path, as in program:./my_policy.py");
  CHECK(refused("program:,deadline_s=3") ==
        "policy 'program' needs a path, as in program:./my_policy.py");
  CHECK(refused("program:a,deadline_s=0") != "");
  CHECK(refused("program:a,patience=3") != "");
  const auto words = cli::parse_program("python3  a.py --alpha=2,deadline_s=2.5");
  REQUIRE(words.has_value());
  CHECK(words->words == std::vector<std::string>{"python3", "a.py", "--alpha=2"});
  CHECK(words->patience.count() == 2.5);
}

TEST_CASE("a program's failure ends a command with exit code 2") {
  const test::TempFolder folder;
  const std::string loads = folder.write("trace.json", kTrace).string();
  const Script script("exit 7\n");
  const test::Outcome outcome =
      test::run_eplb({"plan", "--loads", loads, "--ranks", "2", "--redundant", "2", "--policy",
                      "program:" + script.path()});
  CHECK(outcome.code == 2);
  CHECK(outcome.err.find("ended with exit code 7 before it answered") != std::string::npos);
  const test::Outcome simulated =
      test::run_eplb({"sim", kQuickstart, "--configs", kConfigs, "--set", "run.steps=300", "--set",
                      "eplb.step_interval=120", "--set", "eplb.window_size=60", "--set",
                      "eplb.policy=program:" + script.path()});
  CHECK(simulated.code == 2);
  CHECK(simulated.err.find("ended with exit code 7 before it answered") != std::string::npos);
}

}  // namespace
}  // namespace eplb
