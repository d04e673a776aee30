#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "eplb/core/balancer.hpp"
#include "fixed_policy.hpp"
#include "rows.hpp"
#include "scripted_environment.hpp"

/// Lets a failed check print what it compared.
template <>
struct doctest::StringMaker<eplb::Failure> {
  static String convert(const eplb::Failure& failure) { return describe(failure).c_str(); }
};

namespace eplb::test {

inline constexpr std::int64_t kDeadlineNs = 1'000'000;

/// Interval 8, window 3 in one part, no lead, a deadline of a millisecond.
[[nodiscard]] inline EplbOptions small_options() {
  EplbOptions options;
  options.num_redundant_experts = 2;
  options.window_size = 3;
  options.step_interval = 8;
  options.window_parts = 1;
  options.history_parts = 2;
  options.commit_lead_steps = 0;
  options.deadline_ms = 1;
  return options;
}

/// Rank 0 of two on a scripted environment. Three layers, each [0, 1, 2 | 3, 0, 1] at the start;
/// loads of one token an expert; rows of 10, 100 and 1000 bytes.
struct BalancerFixture {
  static constexpr Shape kShape{
      .layer_count = 3, .expert_count = 4, .redundant_slot_count = 2, .rank_count = 2};

  explicit BalancerFixture(EplbOptions eplb = small_options()) : options(std::move(eplb)) {
    environment.recorder.logical = LoadMatrix::Ones(kShape.layer_count, kShape.expert_count);
    environment.recorder.physical = LoadMatrix::Ones(kShape.layer_count, kShape.slot_count());
  }

  [[nodiscard]] static Topology topology_of(std::int32_t ranks) {
    return Topology::create(
               {.rank_count = ranks, .ranks_per_node = ranks, .ranks_per_domain = ranks})
        .value();
  }

  [[nodiscard]] Balancer::Settings settings() const {
    return {.options = options,
            .shape = shape,
            .topology = topology.value_or(topology_of(shape.rank_count)),
            .costs = costs,
            .row_bytes = {10, 100, 1000}};
  }

  /// Made at the first use, so that a test may prepare the environment.
  [[nodiscard]] Balancer& balancer() {
    if (balancer_ == nullptr) {
      balancer_ = Balancer::create(settings(), environment.environment()).value();
    }
    return *balancer_;
  }

  StepDecision step(StepKind kind = StepKind::kReal) { return balancer().on_step(kind); }

  void steps(int count) {
    for (int i = 0; i < count; ++i) {
      REQUIRE(step() == StepDecision::kProceed);
    }
  }

  /// Progress until it has nothing more to do.
  void settle() {
    for (int i = 0; balancer().progress(); ++i) {
      REQUIRE(i < 1000);
    }
  }

  /// As far as the first trigger, in step 1, and the request for a plan.
  void ask_for_plan() {
    steps(2);
    settle();
    REQUIRE(environment.planner.requests.size() == 1);
  }

  /// Answers the newest request and goes on as far as that leads.
  void answer(const Placement& after) {
    environment.planner.answer(environment.planner.requests.back(), after);
    settle();
  }

  /// All layers to [3, 0, 1 | 0, 1, 2]: one expert crosses each way and each rank moves two within
  /// itself, so a layer takes all three landing rows.
  [[nodiscard]] static Placement swapped() { return placement_of(kShape, {3, 0, 1, 0, 1, 2}); }

  /// All layers to [0, 1, 3 | 3, 0, 2]: one expert crosses each way, so all three layers fit.
  [[nodiscard]] static Placement exchanged() { return placement_of(kShape, {0, 1, 3, 3, 0, 2}); }

  EplbOptions options;
  Shape shape = kShape;
  std::optional<Topology> topology = std::nullopt;  ///< None: one domain.
  PolicyCosts costs = {};
  ScriptedEnvironment environment{RankId{0}, kShape.rank_count};

 private:
  std::unique_ptr<Balancer> balancer_;
};

/// The round of a rearrangement that decides its commits.
[[nodiscard]] inline RoundKey agreement(std::int64_t rearrangement, std::int64_t round) {
  return {.channel = RoundKey::Channel::kAgreement, .rearrangement = rearrangement, .round = round};
}

[[nodiscard]] inline RowAddress slot_row(std::int32_t layer, std::int32_t rank, std::int32_t row) {
  return {.region = weights_region(LayerId{layer}), .rank = RankId{rank}, .row = row};
}

}  // namespace eplb::test
