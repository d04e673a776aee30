// Goal: `eplb plan` reproduces the published planners slot by slot. Method: all golden cases
// through the command, loads and current placement from files, as a person would.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "run_eplb.hpp"
#include "temp_folder.hpp"

namespace eplb {
namespace {

using Json = nlohmann::json;

/// The placement that `eplb plan` writes for a golden case.
Json planned_map(const Json& golden, const test::TempFolder& folder) {
  const auto number = [&](const char* key) { return std::to_string(golden[key].get<int>()); };
  const Json loads{{"logical_count", golden["load"]}};
  const int redundant = golden["physical"].get<int>() - golden["logical"].get<int>();
  const std::string result = (folder.path() / "plan.json").string();
  std::vector<std::string> arguments{"plan",
                                     "--loads",
                                     folder.write("loads.json", loads.dump()).string(),
                                     "--ranks",
                                     number("ranks"),
                                     "--redundant",
                                     std::to_string(redundant),
                                     "--nodes",
                                     number("nodes"),
                                     "--groups",
                                     number("groups"),
                                     "--policy",
                                     golden["policy"] == "vllm" ? "default" : "deepseek",
                                     "--json",
                                     result};
  if (golden.contains("current")) {
    const Json current{{"physical_to_logical_map", golden["current"]}};
    arguments.insert(arguments.end(),
                     {"--current", folder.write("current.json", current.dump()).string()});
  }
  const test::Outcome outcome = test::run_eplb(arguments);
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  return Json::parse(test::read_file(result))["physical_to_logical_map"];
}

TEST_CASE("eplb plan gives the golden placement in every case") {
  const test::TempFolder folder;
  const Json cases = Json::parse(
      test::read_file(std::string(EPLB_SOURCE_DIR) + "/tests/data/golden/placements.json"));
  CHECK(cases.size() == 29);
  for (const Json& golden : cases) {
    const auto name = golden["name"].get<std::string>();
    CAPTURE(name);
    CHECK(planned_map(golden, folder) == golden["expected"]);
  }
}

}  // namespace
}  // namespace eplb
