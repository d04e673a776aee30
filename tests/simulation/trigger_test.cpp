// Goal: the trigger declines what does not pay and lets through what does, as its own prediction
// says. Method: shipped scenarios, cut to few layers and steps, served with and without a trigger
// under the same tokens.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "eplb/config/config.hpp"
#include "eplb/placement/registry.hpp"
#include "eplb/sim/simulation.hpp"

namespace eplb::sim {
namespace {

SimulationResult served(const std::string& name, std::vector<std::string> overrides) {
  config::LoadOptions options;
  options.config_dirs = {EPLB_SOURCE_DIR "/configs"};
  options.overrides = std::move(overrides);
  const auto loaded = config::load_config(EPLB_SOURCE_DIR "/configs/" + name, options);
  REQUIRE(loaded.has_value());
  const auto policy = placement::make_policy(loaded->scenario.eplb.policy).value();
  return simulate(loaded->scenario, *policy, {}).value();
}

/// A run of `name` with `common` and then `more` set.
SimulationResult served(const std::string& name, std::vector<std::string> common,
                        const std::vector<std::string>& more) {
  common.insert(common.end(), more.begin(), more.end());
  return served(name, std::move(common));
}

double moved_bytes(const SimulationResult& result) {
  double bytes = 0;
  for (const RearrangementReport& report : result.rearrangements) {
    bytes += static_cast<double>(report.rearrangement.moved_bytes);
  }
  return bytes;
}

TEST_CASE("on the published EP32 workload robust with the trigger serves as much for a tenth") {
  const std::vector<std::string> common{"model.moe_layers=3", "run.steps=1200",
                                        "run.warmup_steps=0", "eplb.step_interval=300",
                                        "eplb.window_size=150"};
  const SimulationResult usual = served("gb200-dep32.yaml", common);
  const SimulationResult weighed =
      served("gb200-dep32.yaml", common, {"eplb.policy=robust", "eplb.trigger={}"});
  CHECK(weighed.throughput_tokens_per_s > 0.9998 * usual.throughput_tokens_per_s);
  CHECK(moved_bytes(weighed) < 0.1 * moved_bytes(usual));
  // The first plan moves all layers; the traffic stays, so later ones have next to nothing to gain.
  REQUIRE(weighed.rearrangements.size() >= 1);
  CHECK(weighed.rearrangements[0].rearrangement.committed_layers == 3);
}

TEST_CASE("where the traffic moves robust with the trigger serves more, for less than a third") {
  const SimulationResult usual = served("quickstart.yaml", {});
  const SimulationResult weighed =
      served("quickstart.yaml", {"eplb.policy=robust", "eplb.trigger={}"});
  CHECK(weighed.throughput_tokens_per_s > 1.004 * usual.throughput_tokens_per_s);
  CHECK(moved_bytes(weighed) < moved_bytes(usual) / 3);
}

TEST_CASE("a synchronous rearrangement every ten steps is declined, as it does not pay") {
  const std::vector<std::string> common{"model.moe_layers=3", "run.steps=32"};
  const SimulationResult usual = served("published/kimi-k3-ep16.yaml", common);
  const SimulationResult weighed =
      served("published/kimi-k3-ep16.yaml", common, {"eplb.trigger={}"});
  CHECK(moved_bytes(usual) > 0);
  CHECK(moved_bytes(weighed) == 0);
  CHECK(weighed.throughput_tokens_per_s > 1.1 * usual.throughput_tokens_per_s);
  REQUIRE(weighed.rearrangements.size() >= 3);
  for (const RearrangementReport& report : weighed.rearrangements) {
    const Rearrangement& declined = report.rearrangement;
    REQUIRE(declined.verdict.has_value());
    CHECK(declined.proposed_layers == 3);
    CHECK(declined.committed_layers == 0);
    CHECK(declined.verdict->declined_layers == 3);
    CHECK(declined.verdict->declined_price_ns > 10 * declined.verdict->declined_gain_ns);
  }
}

TEST_CASE("what a trigger predicts is what its first migration gains") {
  for (const std::string name : {"gb200-dep32.yaml", "quickstart.yaml"}) {
    CAPTURE(name);
    // The traffic stays, and only the first plan, after 75 steps, falls into the run.
    std::vector<std::string> common{"model.moe_layers=3",     "run.steps=370",
                                    "eplb.policy=robust",     "run.warmup_steps=120",
                                    "eplb.step_interval=300", "eplb.window_size=75"};
    const SimulationResult stayed = served(name, common, {"eplb.trigger.price=1e9"});
    const SimulationResult moved = served(name, common, {"eplb.trigger.price=1"});
    REQUIRE(stayed.rearrangements.size() == 1);
    REQUIRE(moved.rearrangements.size() == 1);
    CHECK(moved_bytes(stayed) == 0);
    const Rearrangement& first = moved.rearrangements[0].rearrangement;
    CHECK(first.committed_layers == 3);
    const double gain_ms = first.verdict->gain_ns * 1e-6 / 300;
    const double gained_ms = stayed.breakdown.mega_moe_ms - moved.breakdown.mega_moe_ms;
    CHECK(gained_ms == doctest::Approx(gain_ms).epsilon(0.1));
  }
}

}  // namespace
}  // namespace eplb::sim
