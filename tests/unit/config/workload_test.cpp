// Goal: a routing and a drift take the keys of their kind, and files of counts that fit the model.
// Method: the legal scenario with a workload; files of counts in a folder of the test's own.
#include <doctest/doctest.h>

#include <string>

#include "config_text.hpp"
#include "temp_folder.hpp"

namespace eplb::config::test {
namespace {

using eplb::test::TempFolder;

/// Loads the legal scenario (2 layers, 8 experts) with this routing, from the folder.
LoadResult load_routing(const TempFolder& folder, std::string_view routing) {
  const std::string text = legal_with("workload:\n  routing: " + std::string(routing) + "\n");
  return load_config_text({.text = text, .name = "t.yaml", .directory = folder.path()},
                          options_with());
}

constexpr std::string_view kRows = "[[1,1,1,1,1,1,1,1],[2,2,2,2,2,2,2,2]]";

std::string counts(std::string_view rows) {
  return R"({"logical_count": )" + std::string(rows) + "}";
}

template <typename Routing>
Routing routing_of(const LoadResult& result) {
  REQUIRE(problems(result) == "");
  REQUIRE(std::holds_alternative<Routing>(result->scenario.workload.routing));
  return std::get<Routing>(result->scenario.workload.routing);
}

TEST_CASE("each routing has its keys and its defaults") {
  const TempFolder folder;
  CHECK(routing_of<sim::ZipfRouting>(load_routing(folder, "{kind: zipf}")).exponent == 1);
  CHECK(routing_of<sim::LognormalRouting>(load_routing(folder, "{kind: lognormal}")).sigma == 0.7);
  const auto power = routing_of<sim::PowerLawRouting>(
      load_routing(folder, "{kind: power_law, exponent: 1.9, weight_max: 64}"));
  CHECK(power.exponent == 1.9);
  CHECK(power.weight_max == 64);
  CHECK(std::holds_alternative<sim::UniformRouting>(load(kLegal)->scenario.workload.routing));
}

TEST_CASE("each drift has its keys and its defaults") {
  const auto drift_of = [](const char* drift) {
    return load(kLegal, {std::string("workload.drift=") + drift})->scenario.workload.drift;
  };
  CHECK(std::holds_alternative<sim::NoDrift>(drift_of("{kind: none}")));
  CHECK(std::get<sim::WalkDrift>(drift_of("{kind: walk}")).correlation_steps == 10000);
  CHECK(std::get<sim::SwitchDrift>(drift_of("{kind: switch, every_steps: 7}")).every_steps == 7);
  CHECK(std::get<sim::BurstDrift>(drift_of("{kind: burst, factor: 2}")).factor == 2);
}

TEST_CASE("a kind that is missing or unknown, and a key of another kind, are refused") {
  CHECK(problems(legal_with("workload: {drift: {every_steps: 5}}\n")) ==
        "t.yaml:5:19: error: workload.drift: must be a mapping with the key kind, which must be "
        "one of none, walk, switch, burst\n");
  CHECK(problems(legal_with("workload: {drift: none}\n")) ==
        "t.yaml:5:19: error: workload.drift: must be a mapping with the key kind, which must be "
        "one of none, walk, switch, burst\n");
  CHECK(problems(legal_with("workload: {routing: {kind: [zipf]}}\n")) ==
        "t.yaml:5:28: error: workload.routing.kind: must be one of uniform, zipf, lognormal, "
        "power_law, counts, domains, got a list\n");
  CHECK(problems(legal_with("workload: {drift: {kind: walk, factor: 2, colour: 1}}\n")) ==
        "t.yaml:5:32: error: workload.drift.factor: belongs to the kind burst, not to walk, which "
        "takes correlation_steps, kind\n"
        "t.yaml:5:43: error: workload.drift.colour: unknown key, allowed are correlation_steps, "
        "kind\n");
}

TEST_CASE("counts are read window by window") {
  const TempFolder folder;
  static_cast<void>(
      folder.write("c.json", counts("[" + std::string(kRows) + "," + std::string(kRows) + "]")));
  const auto routing = routing_of<sim::CountsRouting>(
      load_routing(folder, "{kind: counts, file: c.json, steps_per_window: 5}"));
  CHECK(routing.file == "c.json");
  CHECK(routing.steps_per_window == 5);
  REQUIRE(routing.windows.size() == 2);
  CHECK(routing.windows[1](1, 7) == 2);
}

TEST_CASE("counts of another shape than the model's are refused, with both") {
  const TempFolder folder;
  static_cast<void>(folder.write("c.json", counts("[[1,2,3],[1,2,3],[1,2,3]]")));
  CHECK(problems(load_routing(folder, "{kind: counts, file: c.json}")) ==
        "t.yaml:6:33: error: workload.routing.file: has counts of 3 layers and 3 experts, the "
        "model has 2 and 8\n");
}

TEST_CASE("a layer without tokens is refused, since nothing can be drawn from it") {
  const TempFolder folder;
  static_cast<void>(folder.write("c.json", counts("[[1,1,1,1,1,1,1,1],[0,0,0,0,0,0,0,0]]")));
  CHECK(problems(load_routing(folder, "{kind: counts, file: c.json}")) ==
        "t.yaml:6:33: error: workload.routing.file: layer 1 of window 0 has no tokens, so there is "
        "nothing to draw from\n");
}

TEST_CASE("a file of counts that cannot be used is refused at its key, with the reason") {
  const TempFolder folder;
  const std::string path = folder.write("c.json", R"({"logical_count": [[1, -2]]})").string();
  const std::string at = "t.yaml:6:33: error: workload.routing.file: cannot be used: ";
  CHECK(problems(load_routing(folder, "{kind: counts, file: c.json}"))
            .starts_with(at + path + ":1:"));
  CHECK(problems(load_routing(folder, "{kind: counts, file: d.json}")).starts_with(at));
  CHECK(problems(load_routing(folder, "{kind: counts}")) ==
        "t.yaml:6:12: error: workload.routing.file: is missing, must be text\n");
}

class DomainsFixture {
 protected:
  TempFolder folder_;

  DomainsFixture() {
    static_cast<void>(folder_.write("d.json", R"({"domains": {"code": )" + std::string(kRows) +
                                                  R"(, "v1.0 prose": )" + std::string(kRows) +
                                                  "}}"));
  }

  [[nodiscard]] LoadResult load_schedule(const std::string& schedule) const {
    return load_routing(folder_, "{kind: domains, file: d.json, schedule: " + schedule + "}");
  }
};

TEST_CASE_FIXTURE(DomainsFixture, "a schedule gives domains their shares, phase by phase") {
  const auto routing = routing_of<sim::DomainsRouting>(
      load_schedule("[{steps: 3, mix: {code: 1}}, {steps: 4, mix: {v1.0 prose: 0.5, code: 2}}]"));
  REQUIRE(routing.domains.size() == 2);
  CHECK(routing.domains[1].name == "v1.0 prose");
  REQUIRE(routing.schedule.size() == 2);
  CHECK(routing.schedule[0].steps == 3);
  CHECK(routing.schedule[0].shares == std::vector<double>{1, 0});
  CHECK(routing.schedule[1].shares == std::vector<double>{2, 0.5});
}

TEST_CASE_FIXTURE(DomainsFixture, "what is wrong in a schedule is named by phase and domain") {
  CHECK(problems(load_schedule("[{steps: 0, mix: {cod: 1}}, {mix: {code: -1}}, {steps: 1}, 7]")) ==
        "t.yaml:6:61: error: workload.routing.schedule[0].steps: must be at least 1 and at most "
        "10000000, got 0\n"
        "t.yaml:6:70: error: workload.routing.schedule[0].mix.cod: unknown domain, did you mean "
        "code?\n"
        "t.yaml:6:80: error: workload.routing.schedule[1].steps: is missing, must be a whole "
        "number, at least 1 and at most 10000000\n"
        "t.yaml:6:93: error: workload.routing.schedule[1].mix.code: must be at least 0 and at most "
        "1000000000, got -1\n"
        "t.yaml:6:99: error: workload.routing.schedule[2].mix: is missing, must be a mapping from "
        "domains to shares\n"
        "t.yaml:6:111: error: workload.routing.schedule[3]: must be a mapping of steps, mix, got "
        "7\n");
}

TEST_CASE_FIXTURE(DomainsFixture, "a mix without any share, or that is no mapping, is refused") {
  const std::string must = ": must be a mapping that gives some domain a share above 0, got ";
  CHECK(problems(load_schedule("[{steps: 1, mix: {code: 0}}, {steps: 1, mix: [code]}]")) ==
        "t.yaml:6:69: error: workload.routing.schedule[0].mix" + must + "none\n" +
            "t.yaml:6:97: error: workload.routing.schedule[1].mix" + must + "a list\n");
  CHECK(problems(load_schedule("[]")) ==
        "t.yaml:6:52: error: workload.routing.schedule: must be a list of at least one phase, got "
        "a list\n");
}

TEST_CASE_FIXTURE(DomainsFixture, "without the file the form of a schedule is still checked") {
  CHECK(
      problems(load_routing(folder_,
                            "{kind: domains, file: e.json, schedule: [{steps: x, mix: {any: 1}}]}"))
          .find("t.yaml:6:61: error: workload.routing.schedule[0].steps: must be a whole number "
                "in decimal digits, got x\n") != std::string::npos);
}

}  // namespace
}  // namespace eplb::config::test
