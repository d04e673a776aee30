#include "eplb/sim/group/group.hpp"

#include <algorithm>
#include <utility>

namespace eplb::sim {

SimGroup::SimGroup(const World& world, const Options& options, const Placement& initial,
                   std::span<env::FaultPoints* const> fault_points)
    : world_(world),
      rows_(world.engine, world.violations, options.rank_count),
      wire_(world.engine, rows_, world.carrier, world.trace),
      post_(world.engine, world.timing, world.trace),
      plan_desk_(world.policy) {
  ForwardGate& gate = *this;
  const GroupParts parts{.engine = world.engine,
                         .timing = world.timing,
                         .carrier = world.carrier,
                         .violations = world.violations,
                         .rows = rows_,
                         .wire = wire_,
                         .post = post_,
                         .plan_desk = plan_desk_,
                         .serving = world.serving,
                         .trace_sink = world.trace_sink,
                         .trace = world.trace};
  for (std::int32_t rank = 0; rank < options.rank_count; ++rank) {
    ranks_.push_back(std::make_unique<SimRank>(
        parts, gate, *fault_points[static_cast<std::size_t>(rank)], initial,
        SimRank::Options{.rank = RankId{rank},
                         .rank_count = options.rank_count,
                         .traits = options.traits,
                         .counts_here = rank == 0 || !options.one_rank_counts}));
  }
}

Result<void> SimGroup::create_balancers(const Balancer::Settings& settings) {
  Result<void> result;
  for (const auto& rank : ranks_) {
    auto balancer = Balancer::create(settings, rank->environment());
    if (balancer) {
      rank->attach(std::move(*balancer));
    } else if (result) {
      result = tl::unexpected(balancer.error());
    }
  }
  return result;
}

void SimGroup::load_weights(const Placement& placement, std::int64_t version) {
  for (std::int32_t index = 0; index < placement.shape().layer_count; ++index) {
    const LayerPlacement& layer = placement.layer(LayerId{index});
    for (std::int32_t slot = 0; slot < layer.slot_count(); ++slot) {
      const LogicalExpertId expert = layer.occupant(SlotId{slot});
      if (expert != kNoExpert) {
        rows_.set({.region = weights_region(LayerId{index}),
                   .rank = layer.rank_of(SlotId{slot}),
                   .row = slot % layer.slots_per_rank()},
                  {.layer = index, .expert = expert.value, .version = version});
      }
    }
  }
}

void SimGroup::resume() {
  for (const auto& rank : ranks_) {
    rank->resume();
  }
}

void SimGroup::arrive(RankId /*rank*/) {
  if (++arrived_ == rank_count()) {
    arrived_ = 0;
    world_.serving.forward_ready();
  }
}

void SimGroup::begin_forward() {
  in_forward_ = true;
  for (std::int32_t rank = 0; rank < rank_count(); ++rank) {
    rows_.begin_forward(RankId{rank});
  }
}

void SimGroup::begin_forward(std::int64_t duration_ns) {
  begin_forward();
  world_.engine.schedule(world_.engine.now_ns() + duration_ns, Phase::kCompletion, *this, 0);
}

void SimGroup::on_event(const Event& /*event*/) {
  finish_forward();
}

void SimGroup::finish_forward() {
  const bool complete = std::ranges::none_of(
      ranks_, [](const auto& rank) { return rank->lost() || rank->stopped(); });
  if (!complete) {
    return;  // A collective that one of its ranks has left never ends.
  }
  in_forward_ = false;
  for (std::int32_t rank = 0; rank < rank_count(); ++rank) {
    rows_.end_forward(RankId{rank});
  }
  world_.serving.end_forward();
  for (const auto& rank : ranks_) {
    rank->end_forward();
  }
}

}  // namespace eplb::sim
