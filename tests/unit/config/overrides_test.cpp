// Goal: `--set key=value` changes any key, the last one wins, and a wrong one is shown as given.
// Method: overrides of the legal scenario.
#include <doctest/doctest.h>

#include <string>

#include "config_text.hpp"

namespace eplb::config::test {
namespace {

TEST_CASE("an override replaces a value, adds a key, adds a section") {
  const LoadResult result =
      load(kLegal, {"parallel.ranks=8", "serving.tokens_per_request=3", "run.steps=7",
                    "workload.routing.kind=zipf", "workload.routing.exponent=0.5"});
  REQUIRE(result.has_value());
  CHECK(result->scenario.parallel.ranks == 8);
  CHECK(result->scenario.serving.tokens_per_request == 3);
  CHECK(result->scenario.serving.requests_per_rank == 3);
  CHECK(result->scenario.run.steps == 7);
  REQUIRE(std::holds_alternative<sim::ZipfRouting>(result->scenario.workload.routing));
  CHECK(std::get<sim::ZipfRouting>(result->scenario.workload.routing).exponent == 0.5);
}

TEST_CASE("of several overrides of a key the last one wins") {
  CHECK(load(kLegal, {"run.steps=7", "run.steps=9"})->scenario.run.steps == 9);
  CHECK(load(kLegal, {"run.seed=3", "run={steps: 9}"})->scenario.run.seed == 1);
}

TEST_CASE("an override mends what is wrong in the scenario") {
  CHECK(problems(legal_with("run: {steps: none}\n")) != "");
  CHECK(problems(legal_with("run: {steps: none}\n"), {"run.steps=5"}) == "");
}

TEST_CASE("the model and the hardware can be exchanged, and their keys overridden") {
  const LoadResult result =
      load(kLegal, {"model.top_k=3", "model=kimi-k2", "hardware.plan_us_per_layer=1"});
  REQUIRE(result.has_value());
  CHECK(result->scenario.model.name == "kimi-k2");
  CHECK(result->scenario.model.top_k == 3);
  CHECK(result->scenario.hardware.device == "NVIDIA H200");
  CHECK(result->scenario.hardware.plan_us_per_layer == 1);
}

TEST_CASE("an override that is no key=value is refused") {
  for (const char* text : {"", "=1", "run.steps", "run..steps=1", ".run=1", "run.=1", "run steps=1",
                           "Run=1", "a.b.c.d.e.f.g.h.i=1", "workload.routing.schedule[0]=1"}) {
    CHECK(problems(kLegal, {text}) ==
          "--set " + std::string(text) + ": error: must be key=value with a dotted key\n");
  }
}

TEST_CASE("an override with a wrong value is refused as it was given") {
  CHECK(problems(kLegal, {"run.steps=[1"}) ==
        "--set run.steps=[1: error: run.steps: not valid YAML: end of sequence flow not found\n");
  CHECK(problems(kLegal, {"run.steps="}) ==
        "--set run.steps=: error: run.steps: must not be empty\n");
  CHECK(problems(kLegal, {"run.stepz=1"}) ==
        "--set run.stepz=1: error: run.stepz: unknown key, did you mean steps?\n");
  CHECK(problems(kLegal, {"model.moe_layers.x=1"}) ==
        "--set model.moe_layers.x=1: error: model.moe_layers: is not a section, got 2\n");
  CHECK(problems(kLegal, {"run.steps=\x01"}) ==
        "--set run.steps=\\x01: error: run.steps: control character 1 in the text\n");
}

TEST_CASE("a value may be any YAML") {
  const LoadResult result = load(
      kLegal,
      {"workload.drift={kind: burst, every_steps: 10, duration_steps: 2}", "model.name='a = b'"});
  REQUIRE(result.has_value());
  CHECK(result->scenario.model.name == "a = b");
  CHECK(std::get<sim::BurstDrift>(result->scenario.workload.drift).every_steps == 10);
}

}  // namespace
}  // namespace eplb::config::test
