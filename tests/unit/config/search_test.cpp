// Goal: the section `search` is read as it is meant: short names, lists and ranges; and what no
// setting can have is refused at its place. Method: the legal scenario with such a section.
#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "config_text.hpp"
#include "print_vector.hpp"

namespace eplb::config::test {
namespace {

using Strings = std::vector<std::string>;

/// The legal scenario with a search, whose axes begin at line 7 and column 5.
std::string search_with(std::string_view axes, std::string_view more = "") {
  return legal_with("search:\n  axes:\n    " + std::string(axes) + "\n" + std::string(more));
}

placement::SearchOptions search_of(const std::string& text) {
  const LoadResult result = load(text);
  REQUIRE(problems(result) == "");
  REQUIRE(result->search.has_value());
  return *result->search;
}

Strings keys_of(const placement::SearchOptions& search) {
  Strings keys;
  keys.reserve(search.axes.size());
  for (const placement::SearchAxis& axis : search.axes) {
    keys.push_back(axis.key);
  }
  return keys;
}

TEST_CASE("a scenario without a search has none") {
  CHECK_FALSE(load(kLegal)->search.has_value());
}

TEST_CASE("axes have short names, sections of their own and full keys") {
  const auto search = search_of(search_with(
      "{policy: [default, deepseek], redundancy: [0, 4], window_size: [10], price: [0.1],"
      " policy.reach: [1], communicator: [nixl], serving.requests_per_rank: [1, 2],"
      " hardware: [h200-hgx8, b200-hgx8]}"));
  CHECK(keys_of(search) == Strings{"eplb.policy", "eplb.num_redundant_experts", "eplb.window_size",
                                   "policy.price", "policy.reach", "eplb.communicator",
                                   "serving.requests_per_rank", "hardware"});
  CHECK(search.axes[0].values == Strings{"default", "deepseek"});
  CHECK(search.axes[1].values == Strings{"0", "4"});
  CHECK(search.axes[7].values == Strings{"h200-hgx8", "b200-hgx8"});
}

TEST_CASE("a search has defaults for all but its axes") {
  const auto search = search_of(search_with("{window_size: [10, 20]}"));
  CHECK(search.method == placement::SearchMethod::kGrid);
  CHECK(search.objectives.size() == 4);
  CHECK(search.seeds == 3);
  CHECK(search.confirm_seeds == 5);
  CHECK_FALSE(search.candidates.has_value());
  const auto full = search_of(
      search_with("{window_size: [10, 20]}",
                  "  objectives: [memory, throughput]\n  method: successive_halving\n"
                  "  budget: {candidates: 2, seeds: 8, confirm_seeds: 0, rungs: 2, keep: 0.25,"
                  " rung_steps: [100, 200]}\n"));
  CHECK(full.objectives ==
        std::vector{placement::SearchObjective::kMemory, placement::SearchObjective::kThroughput});
  CHECK(full.method == placement::SearchMethod::kSuccessiveHalving);
  CHECK(full.candidates == 2);
  CHECK(full.keep == 0.25);
  CHECK(full.rung_steps == std::vector<std::int32_t>{100, 200});
}

TEST_CASE("a range adds or multiplies, and rounding neither loses its end nor shows") {
  const auto values = [](const std::string& range) {
    return search_of(search_with("{window_half_life_steps: " + range + "}")).axes[0].values;
  };
  CHECK(values("{from: 0.1, to: 0.3, step: 0.1}") == Strings{"0.1", "0.2", "0.3"});
  CHECK(values("{from: 500, to: 4000, factor: 2}") == Strings{"500", "1000", "2000", "4000"});
  CHECK(values("{from: 1, to: 6, step: 2}") == Strings{"1", "3", "5"});
  CHECK(values("{from: 7, to: 7, step: 1}") == Strings{"7"});
}

TEST_CASE("values keep what their text needs to be read again") {
  const auto search = search_of(
      search_with("policy: [default, \"deepseek:a=1,b=2\"]\n    landing_rows: [none, 2]\n"
                  "    workload.drift: [{kind: none}, {kind: walk, correlation_steps: 5}]"));
  CHECK(search.axes[0].values == Strings{"default", "\"deepseek:a=1,b=2\""});
  CHECK(search.axes[1].values == Strings{"none", "2"});
  CHECK(search.axes[2].values == Strings{"{kind: none}", "{kind: walk, correlation_steps: 5}"});
}

TEST_CASE("the canonical text of a search is the same search") {
  const std::string text = search_with(
      "policy: [default, \"deepseek:a=1,b=2\"]\n"
      "    window_size: {from: 10, to: 30, step: 10}",
      "  method: random\n  budget: {candidates: 3}\n");
  const LoadResult first = load(text);
  REQUIRE(problems(first) == "");
  CHECK(first->canonical_yaml.find("search:\n"
                                   "  axes:\n"
                                   "    eplb.policy: [default, \"deepseek:a=1,b=2\"]\n"
                                   "    eplb.window_size: [10, 20, 30]\n"
                                   "  objectives: [throughput, p99_step, memory, moved_bytes]\n"
                                   "  method: random\n"
                                   "  budget:\n"
                                   "    candidates: 3\n"
                                   "    seeds: 3\n") != std::string::npos);
  const LoadResult again = load(first->canonical_yaml);
  REQUIRE(problems(again) == "");
  CHECK(again->canonical_yaml == first->canonical_yaml);
  CHECK(again->digest == first->digest);
  CHECK(first->digest != load(search_with("{policy: [default]}"))->digest);
}

TEST_CASE("an axis that is no key is refused at its name") {
  CHECK(problems(search_with("{window_sise: [10, 20]}")) ==
        "t.yaml:7:6: error: search.axes.window_sise: unknown key, did you mean window_size?\n");
  CHECK(problems(search_with("{serving.requests: [10, 20]}"))
            .starts_with("t.yaml:7:6: error: search.axes.serving.requests: unknown key, "));
  CHECK(problems(search_with("{run.seed: [1, 2]}")) ==
        "t.yaml:7:6: error: search.axes.run.seed: is no axis: seeds and steps are of search.budget "
        "and of run alone\n");
  CHECK(problems(search_with("{redundancy: [0], num_redundant_experts: [4]}")) ==
        "t.yaml:7:23: error: search.axes.num_redundant_experts: is eplb.num_redundant_experts, "
        "which is an axis already\n");
  CHECK(problems(search_with("{workload.routing.kind: [zipf, uniform]}"))
            .starts_with("t.yaml:7:6: error: search.axes.workload.routing.kind: is no axis by "
                         "itself: vary its whole section"));
  CHECK(problems(search_with("{\"a b\": [1]}")) ==
        "t.yaml:7:6: error: search.axes.a b: must be a dotted key\n");
}

TEST_CASE("a value of another type or out of range is refused at its place") {
  CHECK(problems(search_with("{window_size: [10, many, 0]}")) ==
        "t.yaml:7:24: error: search.axes.window_size: must be a whole number in decimal digits, "
        "got many\n"
        "t.yaml:7:30: error: search.axes.window_size: must be at least 1 and at most 10000000, got "
        "0\n");
  CHECK(problems(search_with("{policy: [default, best]}")) ==
        "t.yaml:7:24: error: search.axes.policy: unknown policy best, allowed are default, "
        "deepseek\n");
  CHECK(problems(search_with("{model: [olmoe-1b-7b, none-such]}")).find("t.yaml:7:27: error: ") ==
        0);
}

TEST_CASE("a combination that is not legal is no mistake of the search") {
  // 8 experts and 1 redundant do not divide over 4 ranks, 8 and 4 do.
  CHECK(problems(search_with("{redundancy: [0, 1, 4]}")) == "");
}

TEST_CASE("axes are a mapping of lists without repeats, or of sound ranges") {
  CHECK(
      problems(legal_with("search: {}\n")) ==
      "t.yaml:5:9: error: search.axes: is missing, must be a mapping from keys to their values\n");
  CHECK(problems(legal_with("search: {axes: [1]}\n"))
            .find("t.yaml:5:16: error: search.axes: must be a mapping from 1 to 16 keys") == 0);
  CHECK(problems(search_with("{window_size: 10}")) ==
        "t.yaml:7:19: error: search.axes.window_size: must be a list of at least one value, or a "
        "range with from, to and step or factor, got 10\n");
  CHECK(problems(search_with("{window_size: []}")).find("got an empty list") != std::string::npos);
  CHECK(problems(search_with("{window_size: [1, 2, 1]}")) ==
        "t.yaml:7:26: error: search.axes.window_size: has 1 twice\n");
  CHECK(problems(search_with("{window_size: {from: 1, to: 3}}")) ==
        "t.yaml:7:19: error: search.axes.window_size: must have either step or factor\n");
  CHECK(problems(search_with("{window_size: {from: 4, to: 3, step: 1}}")) ==
        "t.yaml:7:19: error: search.axes.window_size: must not begin beyond its end\n");
  CHECK(
      problems(search_with("{window_size: {from: 0, to: 3, factor: 2}}")) ==
      "t.yaml:7:19: error: search.axes.window_size: must begin above 0, and not beyond its end\n");
  CHECK(problems(search_with("{window_size: {from: 1, to: 5000, step: 1}}")) ==
        "t.yaml:7:19: error: search.axes.window_size: must have at most 1000 values\n");
}

TEST_CASE("an option that no policy of the search takes is refused") {
  LoadOptions options = options_with();
  options.policy_problem = [](const std::string& policy) {
    return policy.find("price") != std::string::npos && policy.starts_with("default")
               ? std::string("policy 'default' has no price")
               : std::string();
  };
  const auto problems_of = [&](const std::string& text) {
    return problems(load_config_text({.text = text, .name = "t.yaml", .directory = {}}, options));
  };
  CHECK(problems_of(search_with("{price: [0.1]}")) ==
        "t.yaml:7:14: error: search.axes.price: policy 'default' has no price\n");
  CHECK(problems_of(search_with("{policy: [default, deepseek], price: [0.1]}")) == "");
  CHECK(problems(search_with("{price: [[1]]}")) ==
        "t.yaml:7:14: error: search.axes.price: must be a number or a word, got a list\n");
}

TEST_CASE("the budget fits the method and the run") {
  CHECK(problems(search_with("{window_size: [1, 2]}", "  budget: {candidates: 1}\n")) ==
        "t.yaml:8:24: error: search.budget.candidates: is for random and successive_halving: a "
        "grid takes every setting\n");
  CHECK(problems(search_with("{window_size: {from: 1, to: 999, step: 1},"
                             " step_interval: {from: 1, to: 99, step: 1}}"))
            .find("span 98901 settings, of which at most 10000 can be judged") !=
        std::string::npos);
  const auto halving = [](const std::string& budget) {
    return problems(search_with("{window_size: [1, 2]}",
                                "  method: successive_halving\n  budget: {" + budget + "}\n"));
  };
  CHECK(halving("rung_steps: [10, 20, 30]") == "");
  CHECK(halving("rungs: 2, rung_steps: [10, 20, 30]") ==
        "t.yaml:9:34: error: search.budget.rung_steps: must have a number for each of 2 rungs, has "
        "3\n");
  CHECK(halving("rungs: 2, rung_steps: [20, 10]").find("must not fall") != std::string::npos);
  CHECK(problems(search_with("{window_size: [1, 2]}", "  objectives: [memory, speed]\n")) ==
        "t.yaml:8:24: error: search.objectives: must be one of throughput, p99_step, memory, "
        "moved_bytes, got speed\n");
}

TEST_CASE("settings are put on top of overrides, and their paths are the scenario's own") {
  LoadOptions options = options_with({"eplb.window_size=7"});
  options.settings = {"eplb.window_size=9", "workload.routing.kind=counts",
                      "workload.routing.file=workloads/olmoe-c4.json", "model.moe_layers=3",
                      "model.logical_experts=64"};
  const LoadResult result = load_config_text(
      {.text = kLegal, .name = "t.yaml", .directory = EPLB_SOURCE_DIR "/configs"}, options);
  REQUIRE(problems(result) == "");
  CHECK(result->scenario.eplb.window_size == 9);
  CHECK(std::get<sim::CountsRouting>(result->scenario.workload.routing).windows.size() == 1);
}

}  // namespace
}  // namespace eplb::config::test
