#include "served_world.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <utility>

#include "eplb/core/digest.hpp"
#include "function_policy.hpp"
#include "print_vector.hpp"

namespace eplb::test {
namespace {

/// No sound world needs as many steps for what a case waits for.
constexpr int kStepsMax = 2000;

std::uint64_t mixed(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30U)) * 0xBF58476D1CE4E5B9U;
  bits = (bits ^ (bits >> 27U)) * 0x94D049BB133111EBU;
  return bits ^ (bits >> 31U);
}

/// Of a layer's load, and what it was before, so that no load leads to the same placement twice.
std::uint64_t seed_of(const PolicyProblem& problem, std::int32_t layer) {
  Digest digest;
  digest.add(layer);
  const RealLoadMatrix load = window_load(problem);
  for (const double value : load.row(layer)) {
    digest.add(std::bit_cast<std::int64_t>(value));
  }
  for (const LogicalExpertId expert : problem.current->layer(LayerId{layer}).occupants()) {
    digest.add(expert.value);
  }
  return digest.value();
}

/// Swaps a few slots' occupants and gives some of the redundant slots to other experts.
Placement scattered(const PolicyProblem& problem) {
  const Shape& shape = problem.shape;
  const auto slots = static_cast<std::uint64_t>(shape.slot_count());
  std::vector<LayerPlacement> layers;
  layers.reserve(static_cast<std::size_t>(shape.layer_count));
  for (std::int32_t layer = 0; layer < shape.layer_count; ++layer) {
    const LayerPlacement& before = problem.current->layer(LayerId{layer});
    std::vector<LogicalExpertId> occupants(before.occupants().begin(), before.occupants().end());
    std::vector<std::int32_t> replicas = before.replica_counts();
    std::uint64_t bits = seed_of(problem, layer);
    for (int change = 0; change < 6; ++change) {
      bits = mixed(bits + 1);
      std::swap(occupants[bits % slots], occupants[(bits >> 20U) % slots]);
      LogicalExpertId& occupant = occupants[(bits >> 40U) % slots];
      if (replicas[occupant.index()] > 1) {
        --replicas[occupant.index()];
        occupant.value = static_cast<std::int32_t>(bits % replicas.size());
        ++replicas[occupant.index()];
      }
    }
    layers.push_back(LayerPlacement::create(shape, std::move(occupants)).value());
  }
  return Placement::create(shape, std::move(layers)).value();
}

}  // namespace

EplbOptions served_options() {
  EplbOptions options;
  options.window_size = 4;
  options.step_interval = 8;
  options.window_parts = 2;
  options.history_parts = 4;
  options.num_redundant_experts = kServedShape.redundant_slot_count;
  options.log_balancedness = true;
  return options;
}

std::shared_ptr<const PlacementPolicy> scattering_policy() {
  return std::make_shared<FunctionPolicy>(scattered);
}

std::shared_ptr<const PlacementPolicy> turning_policy() {
  return std::make_shared<FunctionPolicy>(
      [](const PolicyProblem& problem) { return rotated(*problem.current); });
}

LoadMatrix some_tokens(RankId rank, std::int64_t forward) {
  LoadMatrix tokens(kServedShape.layer_count, kServedShape.expert_count);
  for (Eigen::Index cell = 0; cell < tokens.size(); ++cell) {
    const std::uint64_t bits = mixed(static_cast<std::uint64_t>(cell) * 0x9E3779B97F4A7C15U +
                                     static_cast<std::uint64_t>(forward) * 64 +
                                     static_cast<std::uint64_t>(rank.value) + 1);
    tokens.data()[cell] = static_cast<std::int64_t>(bits % 5);
  }
  return tokens;
}

WorldOptions served(EplbOptions options) {
  return {.settings = {.options = std::move(options),
                       .shape = kServedShape,
                       .topology = Topology::create({.rank_count = kServedShape.rank_count,
                                                     .ranks_per_domain = kServedShape.rank_count})
                                       .value(),
                       .row_bytes = {1000, 1501, 777}},
          .policy = scattering_policy(),
          .tokens = some_tokens,
          .kind = [](RankId /*rank*/, std::int64_t /*forward*/) { return StepKind::kReal; }};
}

ServedWorld::ServedWorld(WorldOptions options)
    : options_(std::move(options)), world_(make_world(options_)) {
  const Result<void> started = world_->start();
  INFO((started ? std::string() : started.error().message));
  REQUIRE(started.has_value());
}

void ServedWorld::rearrange_until(std::size_t count) {
  for (int step = 0; rearrangements(RankId{0}).size() < count; ++step) {
    REQUIRE(step < kStepsMax);
    REQUIRE(world_->run(1));
    REQUIRE_FALSE(world_->stop_reason(RankId{0}).has_value());
  }
}

void ServedWorld::run_until_drained() {
  const auto drained = [&] {
    bool all = true;
    for (std::int32_t rank = 0; rank < shape().rank_count; ++rank) {
      world_->with_balancer(RankId{rank},
                            [&](Balancer& balancer) { all = all && balancer.drained(); });
    }
    return all;
  };
  for (int step = 0; !drained(); ++step) {
    REQUIRE(step < kStepsMax);
    REQUIRE(world_->run(1));
  }
}

// The end of a group is no agreement on a step: a rank may go on to a forward that another one does
// not come to any more.
Failure ServedWorld::run_until_stopped(RankId gone) {
  const auto serving = static_cast<std::size_t>(shape().rank_count - (gone.value >= 0 ? 1 : 0));
  std::vector<Failure> reasons;
  for (int step = 0; reasons.size() < serving; ++step) {
    REQUIRE(step < kStepsMax);
    REQUIRE(world_->run(1));
    reasons.clear();
    for (std::int32_t rank = 0; rank < shape().rank_count; ++rank) {
      if (const auto reason = world_->stop_reason(RankId{rank}); reason.has_value()) {
        reasons.push_back(*reason);
      }
    }
  }
  for (const Failure& reason : reasons) {
    CHECK(describe(reason) == describe(reasons.front()));
  }
  return reasons.front();
}

Placement ServedWorld::placement(RankId rank) {
  Placement found = Placement::initial(shape());
  world_->with_balancer(rank, [&](Balancer& balancer) { found = balancer.placement(); });
  return found;
}

std::vector<Rearrangement> ServedWorld::rearrangements(RankId rank) {
  std::vector<Rearrangement> found;
  world_->with_balancer(rank, [&](Balancer& balancer) {
    found.assign(balancer.rearrangements().begin(), balancer.rearrangements().end());
  });
  return found;
}

RankHistory ServedWorld::history(RankId rank) {
  RankHistory history;
  world_->with_calls(rank, [&](const group::RecordedCalls& calls) { history = history_of(calls); });
  return history;
}

std::vector<RankHistory> ServedWorld::histories() {
  std::vector<RankHistory> all;
  all.reserve(static_cast<std::size_t>(shape().rank_count));
  for (std::int32_t rank = 0; rank < shape().rank_count; ++rank) {
    all.push_back(history(RankId{rank}));
  }
  return all;
}

void ServedWorld::check_content() {
  const Placement expected = placement(RankId{0});
  for (std::int32_t layer = 0; layer < shape().layer_count; ++layer) {
    CAPTURE(layer);
    const LayerPlacement& slots = expected.layer(LayerId{layer});
    env::PlacementEpoch first_epoch = -1;
    for (std::int32_t rank = 0; rank < shape().rank_count; ++rank) {
      CAPTURE(rank);
      CHECK(world_->map(RankId{rank}, LayerId{layer}) == LayerMap::from(slots));
      world_->with_balancer(RankId{rank}, [&](Balancer& balancer) {
        CHECK(balancer.placement().layer(LayerId{layer}) == slots);
        first_epoch = rank == 0 ? balancer.epoch(LayerId{layer}) : first_epoch;
        CHECK(balancer.epoch(LayerId{layer}) == first_epoch);
      });
    }
    for (std::int32_t slot = 0; slot < slots.slot_count(); ++slot) {
      CAPTURE(slot);
      CHECK(world_->holds(LayerId{layer}, SlotId{slot}, slots.occupant(SlotId{slot})));
    }
  }
  CHECK(world_->faults() == std::vector<std::string>());
}

namespace {

/// Every logged pass: its physical counts are its logical ones, dealt by the maps of its step.
void check_folding(const RankHistory& history, const Shape& shape) {
  for (const env::RecordedPass& pass : history.passes) {
    CAPTURE(pass.step);
    REQUIRE(pass.use.log);
    CHECK(pass.physical.sum() == pass.logical.sum());
    for (std::int32_t layer = 0; layer < shape.layer_count; ++layer) {
      const LayerMap map = map_in_step(history, shape, LayerId{layer}, pass.step);
      const std::vector<std::int64_t> logical(pass.logical.row(layer).begin(),
                                              pass.logical.row(layer).end());
      CHECK(folded(pass, LayerId{layer}, map) == logical);
    }
  }
}

}  // namespace

void ServedWorld::check_histories() {
  const std::vector<RankHistory> all = histories();
  std::map<std::int64_t, std::vector<double>> totals;  // By rearrangement.
  for (const RankHistory& history : all) {
    CHECK(history.published == all.front().published);
    check_folding(history, shape());
    for (const WindowSum& window : history.windows) {
      CAPTURE(window.rearrangement);
      CHECK(window.values == recounted(history, window, options_.settings.options, shape()));
      std::vector<double>& total = totals[window.rearrangement];
      total.resize(window.values.size(), 0.0);
      std::ranges::transform(total, window.values, total.begin(), std::plus<>());
    }
  }
  for (const RankHistory& history : all) {
    for (const auto& [rearrangement, total] : history.window_totals) {
      CHECK(total == totals[rearrangement]);
    }
  }
}

}  // namespace eplb::test
