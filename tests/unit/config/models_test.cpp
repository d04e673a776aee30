// Goal: `model` may be a list, a target and its drafts, which agree in what they share. Method:
// lists of names, paths and mappings; each thing that may be wrong, with its place.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "config_text.hpp"
#include "temp_folder.hpp"

namespace eplb::config::test {
namespace {

using eplb::test::TempFolder;

constexpr std::string_view kRest =
    "hardware: h200-hgx8\nparallel: {ranks: 4}\nserving: {requests_per_rank: 3}\n";

/// A scenario with this `model`, which takes the lines from the first on.
std::string scenario(std::string_view models) {
  return "model: " + std::string(models) + "\n" + std::string(kRest);
}

std::string mapping(std::string_view experts, std::string_view more = {}) {
  return "{moe_layers: 1, hidden: 8, moe_intermediate: 8, top_k: 1, weight_format: bf16, "
         "logical_experts: " +
         std::string(experts) + std::string(more) + "}";
}

TEST_CASE("the first of a list is the target, the others are its drafts, in their order") {
  const LoadResult result = load(scenario("[olmoe-1b-7b, " + mapping("64") + ", olmoe-1b-7b]"));
  REQUIRE(problems(result) == "");
  CHECK(result->scenario.model.name == "olmoe-1b-7b");
  REQUIRE(result->scenario.drafts.size() == 2);
  CHECK(result->scenario.drafts[0].name.empty());
  CHECK(result->scenario.drafts[0].moe_layers == 1);
  CHECK(result->scenario.drafts[1].name == "olmoe-1b-7b");
  CHECK(result->scenario.drafts[1].moe_layers == 16);
}

TEST_CASE("a list of one is that one, without drafts") {
  const LoadResult one = load(scenario("[olmoe-1b-7b]"));
  REQUIRE(problems(one) == "");
  CHECK(one->scenario.drafts.empty());
  CHECK(one->digest == load(scenario("olmoe-1b-7b"))->digest);
}

TEST_CASE("a draft counts for the digest") {
  CHECK(load(scenario("[olmoe-1b-7b, olmoe-1b-7b]"))->digest !=
        load(scenario("olmoe-1b-7b"))->digest);
}

TEST_CASE("a list has a model, and not more than eight") {
  CHECK(problems(scenario("[]")) ==
        "t.yaml:1:8: error: model: must list at least 1 and at most 8 models, got 0\n");
  const std::string four = "olmoe-1b-7b, olmoe-1b-7b, olmoe-1b-7b, olmoe-1b-7b";
  CHECK(problems(scenario("[" + four + ", " + four + "]")) == "");
  CHECK(problems(scenario("[" + four + ", " + four + ", olmoe-1b-7b]")) ==
        "t.yaml:1:8: error: model: must list at least 1 and at most 8 models, got 9\n");
}

TEST_CASE("what is wrong with an entry is named by its index, the target as the model") {
  CHECK(problems(scenario("\n  - [olmoe-1b-7b]\n  - olmo-1b-7b\n  - ~")) ==
        "t.yaml:2:5: error: model: must be a name, a path or a mapping, got a list\n"
        "t.yaml:3:5: error: model[1]: unknown model \"olmo-1b-7b\", did you mean olmoe-1b-7b?\n"
        "t.yaml:4:5: error: model[2]: must be a name, a path or a mapping, got nothing\n");
  CHECK(problems(scenario("[" + mapping("64") + ",\n  " + mapping("64", ", colour: red") + "]")) ==
        "t.yaml:2:103: error: model[1].colour: unknown key, allowed are name, source, moe_layers, "
        "hidden, moe_intermediate, logical_experts, top_k, expert_groups, weight_format\n");
}

TEST_CASE("what is wrong in a draft's file is named at its place there") {
  const TempFolder folder;
  const std::string file = folder.write("draft.yaml", "moe_layers: 0\n").string();
  const std::string said = problems(scenario("[olmoe-1b-7b, " + file + "]"));
  CHECK(said.starts_with(file + ":1:1: error: model[1].hidden: is missing, "));
  CHECK(said.find(file + ":1:13: error: model[1].moe_layers: must be at least 1 ") !=
        std::string::npos);
}

TEST_CASE("all models have the first one's experts and groups, else the entry is refused") {
  CHECK(problems(scenario("\n  - olmoe-1b-7b\n  - " + mapping("32"))) ==
        "t.yaml:3:5: error: model[1].logical_experts: must be that of the first model (64), got "
        "32\n");
  CHECK(problems(scenario("\n  - " + mapping("64", ", expert_groups: 8") + "\n  - " +
                          mapping("64") + "\n  - " + mapping("64", ", expert_groups: 8"))) ==
        "t.yaml:3:5: error: model[1].expert_groups: must be that of the first model (8), got 1\n");
  CHECK(problems(scenario("\n  - " + mapping("384", ", expert_groups: 1") + "\n  - kimi-k2")) ==
        "");
  CHECK(problems(scenario("\n  - olmoe-1b-7b\n  - kimi-k2"))
            .starts_with("t.yaml:3:5: error: model[1].logical_experts: must be that of the first "
                         "model (64), got 384\n"));
}

TEST_CASE("rules about a model hold for drafts too") {
  const auto with_draft = [](std::string_view draft) {
    return problems(scenario("[olmoe-1b-7b,\n" + std::string(draft) + "]"));
  };
  CHECK(with_draft("{moe_layers: 1, hidden: 8, moe_intermediate: 8, logical_experts: 64, top_k: 65,"
                   " weight_format: bf16}") ==
        "t.yaml:2:77: error: model[1].top_k: must be at most logical_experts (64), got 65\n");
  CHECK(problems(scenario("[olmoe-1b-7b,\n{moe_layers: 1, hidden: 8, moe_intermediate: 8, top_k: 1,"
                          " logical_experts: 64, weight_format: mxfp4}]"),
                 {"hardware.fp8_tflops=0"}) ==
        "--set hardware.fp8_tflops=0: error: hardware.fp8_tflops: the hardware cannot compute with "
        "these weights: fp8_tflops is 0\n");
}

TEST_CASE("an override below the model is of the target, and one of the model may be a list") {
  const std::string text = scenario("[" + mapping("64") + ", " + mapping("64") + "]");
  const LoadResult below = load(text, {"model.hidden=16"});
  REQUIRE(problems(below) == "");
  CHECK(below->scenario.model.hidden == 16);
  CHECK(below->scenario.drafts.at(0).hidden == 8);
  const LoadResult whole = load(text, {"model=[olmoe-1b-7b, olmoe-1b-7b]"});
  REQUIRE(problems(whole) == "");
  CHECK(whole->scenario.drafts.at(0).hidden == 2048);
}

TEST_CASE("drafts count for what the load windows take of memory") {
  const auto layers = [](const char* count) {
    return mapping("64") + ", {moe_layers: " + count +
           ", hidden: 8, moe_intermediate: 8, logical_experts: 64, top_k: 1, weight_format: bf16}";
  };
  CHECK(problems(scenario("[" + layers("99") + "]"), {"eplb.window_size=312000"}) == "");
  CHECK(problems(scenario("[" + layers("100") + "]"), {"eplb.window_size=312000"}) ==
        "--set eplb.window_size=312000: error: eplb.window_size: the load window would take 8.1 "
        "GB, at most 8 GB is allowed; use a smaller window_size or history_parts\n");
}

}  // namespace
}  // namespace eplb::config::test
