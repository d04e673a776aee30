// Goal: `eplb score` follows its protocol (plan on four windows, serve the next, carry on), reports
// the figures of its definitions, and turns wrong input into a message and exit code 2.
// Method: whole runs on traces of six or seven windows, whose figures can be worked by hand under
// the policy `linear` (slot p holds expert p mod E).
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "run_eplb.hpp"
#include "temp_folder.hpp"

namespace eplb {
namespace {

using Json = nlohmann::ordered_json;

// 4 experts, 2 redundant slots, 2 ranks. Linear: rank 0 holds 0, 1, 2; rank 1 holds 3, 0, 1.
// The fifth window is 7.5 against 12.5, mean and bound 10; the sixth one is 8 against 8.
constexpr const char* kTrace =
    R"({"logical_count": [[[1, 1, 1, 1]], [[1, 1, 1, 1]], [[1, 1, 1, 1]], [[2, 1, 1, 1]],)"
    R"( [[10, 1, 2, 7]], [[4, 4, 4, 4]]]})";

std::vector<std::string> scoring(const std::string& loads, const std::string& policies) {
  return {"score", "--loads", loads, "--policy", policies, "--ranks", "2", "--redundant", "2"};
}

Json json_of(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--json", "-"});
  const test::Outcome outcome = test::run_eplb(arguments);
  CHECK(outcome.code == 0);
  return Json::parse(outcome.out, nullptr, false);
}

std::string refusal(const std::vector<std::string>& arguments) {
  const test::Outcome outcome = test::run_eplb(arguments);
  CHECK(outcome.code == 2);
  CHECK(outcome.out.empty());
  return outcome.err;
}

TEST_CASE("score reports the figures of its definitions") {
  const test::TempFolder folder;
  const Json json = json_of(scoring(folder.write("t.json", kTrace).string(), "linear"));
  CHECK(json["schema"] == "eplb.score/1");
  REQUIRE(json["results"].size() == 1);
  const Json& result = json["results"][0];
  CHECK(result["policy"] == "linear");
  CHECK(result["balancedness"] == 0.9);
  CHECK(result["worst"] == 0.8);
  CHECK(result["regret"] == 1.125);
  CHECK(result["moved"] == 0.0);
  CHECK(result["duplicates"] == 0.0);
  CHECK(result["plan_ms"].get<double>() >= 0);
  CHECK(json["ceiling"]["bound"] == 1.0);
  CHECK(json["traces"][0]["plans"] == 2);
}

TEST_CASE(
    "score serves a window that the plan has not seen, and counts moves from the second plan") {
  // Expert 3 takes over in the window that is served last: who had seen it would be level.
  const test::TempFolder folder;
  const std::string trace =
      folder
          .write("t.json", R"({"logical_count": [[[9, 1, 1, 1]], [[9, 1, 1, 1]],)"
                           R"( [[9, 1, 1, 1]], [[9, 1, 1, 1]], [[9, 1, 1, 1]],)"
                           R"( [[1, 1, 1, 9]]]})")
          .string();
  const Json json = json_of(scoring(trace, "robust"));
  const Json& result = json["results"][0];
  // The initial placement is level while expert 0 is hot, 6 tokens a rank, and stays; then it has
  // 2 against 10.
  CHECK(result["worst"] == 0.6);
  CHECK(result["balancedness"] == 0.8);
  CHECK(result["moved"] == 0.0);
  // `default` gives the hot expert three copies of 3 tokens, so that one rank has 3 + 3 + 1 of 12.
  CHECK(json["ceiling"]["forecast"].get<double>() == doctest::Approx(6.0 / 7).epsilon(1e-12));
}

TEST_CASE("a policy list may hold options, and a part without a name goes on with them") {
  const test::TempFolder folder;
  const Json json = json_of(scoring(folder.write("t.json", kTrace).string(),
                                    "linear,robust:price=0.01,reach=2,default:windows=1"));
  REQUIRE(json["results"].size() == 3);
  CHECK(json["results"][0]["policy"] == "linear");
  CHECK(json["results"][1]["policy"] == "robust:price=0.01,reach=2");
  CHECK(json["results"][2]["policy"] == "default:windows=1");
}

TEST_CASE("a folder stands for its traces by name, and their mean is reported") {
  const test::TempFolder folder;
  const auto write_level = [&](const std::string& name) {
    static_cast<void>(
        folder.write(name, R"({"logical_count": [[[1, 1, 1, 1]], [[1, 1, 1, 1]], [[1, 1, 1, 1]],)"
                           R"( [[1, 1, 1, 1]], [[4, 4, 4, 4]], [[4, 4, 4, 4]]]})"));
  };
  write_level("b.json");
  static_cast<void>(folder.write("a.json", kTrace));
  static_cast<void>(folder.write("notes.txt", "no trace"));
  const Json json = json_of(scoring(folder.path().string(), "linear"));
  REQUIRE(json["traces"].size() == 2);
  CHECK(json["traces"][0]["loads"] == (folder.path() / "a.json").string());
  CHECK(json["traces"][1]["results"][0]["balancedness"] == 1.0);
  CHECK(json["results"][0]["balancedness"].get<double>() == doctest::Approx(0.95).epsilon(1e-12));
  CHECK(json["results"][0]["worst"] == 0.8);
}

TEST_CASE("the same traces give the same bytes, but for the time") {
  const test::TempFolder folder;
  const auto arguments = scoring(folder.write("t.json", kTrace).string(), "robust,frugal,default");
  const auto timeless = [&] {
    Json json = json_of(arguments);
    for (Json* results : {&json["results"], &json["traces"][0]["results"]}) {
      for (Json& result : *results) {
        result.erase("plan_ms");
      }
    }
    return json.dump();
  };
  CHECK(timeless() == timeless());
}

TEST_CASE("a person gets a table a policy, and what its columns mean") {
  const test::TempFolder folder;
  const auto outcome = test::run_eplb(scoring(folder.write("t.json", kTrace).string(), "linear"));
  CHECK(outcome.code == 0);
  CHECK(outcome.err.empty());
  CHECK(outcome.out.find("plans 2, layers 1, slots 6, ranks 2\n") != std::string::npos);
  CHECK(outcome.out.find("linear") != std::string::npos);
  CHECK(outcome.out.find("0.9000  0.8000") != std::string::npos);
  CHECK(outcome.out.find("default, perfect forecast") != std::string::npos);
}

TEST_CASE("on several nodes score says how the nearest replicas would do, and what leaves") {
  const test::TempFolder folder;
  auto arguments = scoring(folder.write("t.json", kTrace).string(), "linear");
  const Json one = json_of(arguments)["results"][0];
  CHECK_FALSE(one.contains("network_share"));
  arguments.insert(arguments.end(), {"--nodes", "2"});
  const Json two = json_of(arguments)["results"][0];
  // Each rank is a node, and has experts 0 and 1 itself: half of 2's and 3's tokens leave, 4.5 of
  // 20 and 4 of 16. Ranks get what an even split gives them.
  CHECK(two["network_share"].get<double>() == doctest::Approx((0.225 + 0.25) / 2).epsilon(1e-12));
  CHECK(two["balancedness_nearest"].get<double>() == doctest::Approx(0.9).epsilon(1e-12));
  const auto outcome = test::run_eplb(arguments);
  CHECK(outcome.out.find("nearest  leaving\n") != std::string::npos);
  CHECK(outcome.out.find("0.9000   23.8 %\n") != std::string::npos);
}

TEST_CASE("score reports all wrong options in one go") {
  CHECK(refusal({"score", "--ranks", "0", "--policy", "fastest", "--redundant", "x"}) ==
        "eplb score: error: --loads: is missing\n"
        "eplb score: error: --ranks: must be a whole number from 1 to 2147483647, got '0'\n"
        "eplb score: error: --redundant: must be a whole number from 0 to 1023, got 'x'\n"
        "eplb score: error: --policy: unknown policy 'fastest', allowed are deepseek, default, "
        "flash, frugal, linear, local_first, program, robust, snake, static, swift, trtllm\n"
        "See 'eplb score --help'.\n");
}

TEST_CASE("score refuses a trace that is too short, and a folder without any") {
  const test::TempFolder folder;
  const std::string empty = folder.path().string();
  CHECK(refusal(scoring(empty, "linear")) ==
        "eplb score: error: --loads: " + empty + " holds no .json file\n");
  const std::string brief = folder.write("t.json", R"({"logical_count": [[1, 1, 1, 1]]})").string();
  CHECK(refusal(scoring(brief, "linear")) ==
        brief + ": error: logical_count: must hold at least 6 windows, got 1\n");
}

}  // namespace
}  // namespace eplb
