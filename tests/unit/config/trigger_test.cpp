// Goal: a trigger is there if its key is, with defaults for what it does not say, and what it says
// is checked and comes back in the canonical text. Method: the legal scenario with one key more.
#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "config_text.hpp"

namespace eplb::config::test {
namespace {

std::string with_trigger(std::string_view trigger) {
  return legal_with("eplb: {num_redundant_experts: 8, trigger: " + std::string(trigger) + "}\n");
}

TEST_CASE("without the key there is no trigger, and the canonical text has none") {
  const LoadResult result = load(kLegal);
  REQUIRE(problems(result) == "");
  CHECK_FALSE(result->scenario.eplb.trigger.has_value());
  CHECK(result->canonical_yaml.find("trigger") == std::string::npos);
}

TEST_CASE("an empty mapping is a trigger with its defaults") {
  const LoadResult result = load(with_trigger("{}"));
  REQUIRE(problems(result) == "");
  CHECK(result->scenario.eplb.trigger == TriggerOptions{});
  CHECK(result->canonical_yaml.find("  trigger:\n"
                                    "    horizon_steps: none\n"
                                    "    price: 1\n"
                                    "    hysteresis: 0.005\n"
                                    "    cool_down: 0\n") != std::string::npos);
}

TEST_CASE("each key is read, from the file and from overrides, and comes back") {
  const LoadResult first = load(with_trigger("{horizon_steps: 500, price: 2.5, cool_down: 3}"),
                                {"eplb.trigger.hysteresis=0"});
  REQUIRE(problems(first) == "");
  const TriggerOptions expected{
      .horizon_steps = 500, .price = 2.5, .hysteresis = 0, .cool_down = 3};
  CHECK(first->scenario.eplb.trigger == expected);
  const LoadResult again = load(first->canonical_yaml);
  REQUIRE(problems(again) == "");
  CHECK(again->scenario.eplb.trigger == expected);
  CHECK(again->digest == first->digest);
  CHECK(load(kLegal, {"eplb.trigger.price=2"})->scenario.eplb.trigger->price == 2);
}

TEST_CASE("what is wrong is said at its place") {
  CHECK(problems(with_trigger("{price: -1, horizon: 3}")) ==
        "t.yaml:5:51: error: eplb.trigger.price: must be at least 0 and at most 1000000000, got "
        "-1\n"
        "t.yaml:5:55: error: eplb.trigger.horizon: unknown key, allowed are horizon_steps, price, "
        "hysteresis, cool_down\n");
  CHECK(problems(with_trigger("yes")) ==
        "t.yaml:5:43: error: eplb.trigger: must be a mapping of horizon_steps, price, hysteresis, "
        "cool_down, got yes\n");
  CHECK(problems(with_trigger("{hysteresis: 1.5, cool_down: -1, horizon_steps: 0}")) ==
        "t.yaml:5:56: error: eplb.trigger.hysteresis: must be at least 0 and at most 1, got 1.5\n"
        "t.yaml:5:72: error: eplb.trigger.cool_down: must be at least 0 and at most 10000000, got "
        "-1\n"
        "t.yaml:5:91: error: eplb.trigger.horizon_steps: must be at least 1 and at most 10000000, "
        "got 0\n");
}

}  // namespace
}  // namespace eplb::config::test
