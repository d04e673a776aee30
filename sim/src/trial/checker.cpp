#include "checker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "eplb/core/balancedness.hpp"

namespace eplb::sim {

void Checker::check_forward(SimGroup& group, std::int64_t version) {
  const Balancer& first = group.rank(RankId{0}).balancer();
  const Placement& placement = first.placement();
  const Shape& shape = placement.shape();
  for (std::int32_t layer = 0; layer < shape.layer_count; ++layer) {
    const LayerId id{layer};
    const LayerMap map = LayerMap::from(placement.layer(id));
    for (std::int32_t rank = 0; rank < group.rank_count(); ++rank) {
      const SimMapPublisher& maps = group.rank(RankId{rank}).maps();
      if (maps.map(id) != map) {
        violate(
            fmt::format("agreement: rank {} has another map of layer {} than rank 0's placement "
                        "(epoch {} of it, "
                        "{} of its balancer, {} of rank 0's)",
                        rank, layer, maps.epoch(id), group.rank(RankId{rank}).balancer().epoch(id),
                        first.epoch(id)));
      }
      if (group.rank(RankId{rank}).balancer().epoch(id) != first.epoch(id)) {
        violate(fmt::format("agreement: rank {} has another epoch of layer {} than rank 0", rank,
                            layer));
      }
    }
    for (std::int32_t slot = 0; slot < shape.slot_count(); ++slot) {
      const LogicalExpertId expert = placement.layer(id).occupant(SlotId{slot});
      const RowContent& held =
          group.rows().content({.region = weights_region(id),
                                .rank = placement.layer(id).rank_of(SlotId{slot}),
                                .row = slot % shape.slots_per_rank()});
      const RowContent due{.layer = layer, .expert = expert.value, .version = version};
      if (expert != kNoExpert && held != due) {
        violate(
            fmt::format("content: layer {} slot {} serves expert {} and holds layer {} expert "
                        "{} version {} (now {})",
                        layer, slot, expert.value, held.layer, held.expert, held.version, version));
      }
    }
  }
}

void Checker::check_counts(const SimGroup& group, RankId rank, const RankCounts& counts) {
  const Placement& placement = group.rank(rank).balancer().placement();
  LoadMatrix folded = LoadMatrix::Zero(counts.logical.rows(), counts.logical.cols());
  for (Eigen::Index layer = 0; layer < counts.physical.rows(); ++layer) {
    const LayerPlacement& of_layer = placement.layer(LayerId{static_cast<std::int32_t>(layer)});
    for (Eigen::Index slot = 0; slot < counts.physical.cols(); ++slot) {
      const LogicalExpertId expert = of_layer.occupant(SlotId{static_cast<std::int32_t>(slot)});
      if (expert != kNoExpert) {
        folded(layer, expert.value) += counts.physical(layer, slot);
      } else if (counts.physical(layer, slot) != 0) {
        violate(fmt::format("conservation: rank {} sent tokens to an empty slot", rank.value));
      }
    }
  }
  if (folded != counts.logical) {
    violate(fmt::format("conservation: physical counts of rank {} do not fold to the logical ones",
                        rank.value));
  }
}

void Checker::expect_balancedness(std::int64_t step, const Shape& shape,
                                  const std::vector<RankCounts>& counts) {
  RankLoadMatrix loads = RankLoadMatrix::Zero(shape.layer_count, shape.rank_count);
  for (const RankCounts& of_rank : counts) {
    for (Eigen::Index layer = 0; layer < of_rank.physical.rows(); ++layer) {
      for (Eigen::Index slot = 0; slot < of_rank.physical.cols(); ++slot) {
        loads(layer, slot / shape.slots_per_rank()) += of_rank.physical(layer, slot);
      }
    }
  }
  balancedness_[step] = std::llround(balancedness(loads).value * 1e6);
}

LoadMatrix Checker::newest_window(RankId rank) const {
  const std::vector<LoadMatrix>& taken = *taken_[rank.index()];
  const auto size = static_cast<std::size_t>(swarm_.eplb.window_size);
  LoadMatrix sum = LoadMatrix::Zero(swarm_.shape.layer_count, swarm_.shape.expert_count);
  for (std::size_t pass = taken.size() - std::min(taken.size(), size); pass < taken.size();
       ++pass) {
    sum += taken[pass];
  }
  return sum;
}

void Checker::on_trace(const env::TraceRecord& record) {
  const std::int32_t rank = record.rank.value;
  switch (record.event) {
    case env::TraceEvent::kAggregating: {
      rearrangement_of_[rank] = record.subject;
      auto [window, fresh] = windows_.try_emplace(record.subject, newest_window(record.rank));
      if (!fresh) {
        window->second += newest_window(record.rank);
      }
      break;
    }
    case env::TraceEvent::kBalancedness: {
      const auto expected = balancedness_.find(record.subject);
      if (expected == balancedness_.end() || std::abs(expected->second - record.value) > 1) {
        violate(fmt::format("balancedness: rank {} logs {} of step {}", rank, record.value,
                            record.subject));
      }
      const auto [last, first_time] = last_logged_.try_emplace(rank, record.subject);
      if (!first_time && last->second >= record.subject) {
        violate(fmt::format("balancedness: rank {} logs step {} after step {}", rank,
                            record.subject, last->second));
      }
      last->second = record.subject;
      reached_.insert("log");
      break;
    }
    case env::TraceEvent::kCommit:
      check_cool_down(static_cast<std::int32_t>(record.subject), rank);
      if (++commits_in_step_[rank] == 2) {
        reached_.insert("several layers committed in a step");
      }
      break;
    case env::TraceEvent::kStep:
      commits_in_step_[rank] = 0;
      if (record.value == 1 && swarm_.eplb.use_async) {
        reached_.insert("hold in async mode");
      }
      break;
    case env::TraceEvent::kAborting:
      reached_.insert(fmt::format("abort: {}", to_string(static_cast<FailureCause>(record.value))));
      break;
    case env::TraceEvent::kPlanSkipped:
      reached_.insert("no load to plan on");
      break;
    case env::TraceEvent::kRecording:
    case env::TraceEvent::kPlanRequested:
    case env::TraceEvent::kPlanReady:
    case env::TraceEvent::kTransferStarted:
    case env::TraceEvent::kLayerLanded:
    case env::TraceEvent::kLayerRetired:
    case env::TraceEvent::kFailure:
    case env::TraceEvent::kRearrangementEnd:
      break;
  }
}

void Checker::on_plan_request(RankId rank, const PlanRequest& request) {
  check_window(rank, request);
  check_window_steps(rank, request);
  check_trigger(rank, request);
}

/// Policies take it for tokens a step, so all ranks must have the same.
void Checker::check_window_steps(RankId rank, const PlanRequest& request) {
  const auto [first, fresh] =
      window_steps_.try_emplace(request.rearrangement, request.window_steps);
  if (!fresh && first->second != request.window_steps) {
    violate(fmt::format("window: rank {} takes it for {} steps in rearrangement {}, others for {}",
                        rank.value, request.window_steps, request.rearrangement, first->second));
  }
}

/// All ranks must weigh alike, whenever they have come to the group.
void Checker::check_trigger(RankId rank, const PlanRequest& request) {
  const auto [first, fresh] = triggers_.try_emplace(request.rearrangement, request.trigger);
  if (!fresh && first->second != request.trigger) {
    violate(fmt::format("trigger: rank {} has another one in rearrangement {} than others",
                        rank.value, request.rearrangement));
  }
}

/// Commits are those of all ranks, so rank 0's will do, whoever that is. Where layers that stay are
/// committed too, a commit is no move.
void Checker::check_cool_down(std::int32_t layer, std::int32_t rank) {
  const std::int64_t rearrangement = rearrangement_of_[rank];
  const auto trigger = triggers_.find(rearrangement);
  const auto every_layer = static_cast<std::uint32_t>(env::FaultPoint::kEveryLayer);
  if (rank != 0 || (swarm_.fault_points >> every_layer & 1U) != 0 || trigger == triggers_.end() ||
      !trigger->second) {
    return;
  }
  const auto [last, fresh] = moves_.try_emplace(layer, rearrangement);
  if (!fresh && rearrangement - last->second <= swarm_.eplb.trigger->cool_down) {
    violate(fmt::format("trigger: layer {} moves in rearrangement {}, and moved in {}", layer,
                        rearrangement, last->second));
  }
  last->second = rearrangement;
}

void Checker::on_verdict(const SimPlanDesk::Answer& answer) {
  if (!answer || !(*answer)->verdict) {
    return;
  }
  const TriggerVerdict& verdict = *(*answer)->verdict;
  if (verdict.proposed_layers > verdict.declined_layers) {
    reached_.insert("trigger: a layer migrates");
  }
  if (verdict.declined_layers > verdict.cooling_layers) {
    reached_.insert("trigger: a layer does not pay");
  }
  if (verdict.cooling_layers > 0) {
    reached_.insert("trigger: a layer cools");
  }
}

void Checker::check_window(RankId rank, const PlanRequest& request) {
  if (swarm_.eplb.window_half_life_steps.has_value()) {
    return;  // Weighted sums have tests of their own.
  }
  const auto parts = static_cast<std::size_t>(request.window_part_count);
  if (request.history.size() < parts) {
    violate(fmt::format("window: rank {} plans from {} parts", rank.value, request.history.size()));
    return;
  }
  RealLoadMatrix sum = RealLoadMatrix::Zero(swarm_.shape.layer_count, swarm_.shape.expert_count);
  for (std::size_t part = request.history.size() - parts; part < request.history.size(); ++part) {
    sum += *request.history[part];
  }
  const LoadMatrix& window = windows_[request.rearrangement];
  const bool no_load = window.size() == 0 || window.sum() == 0;
  if (!no_load && sum != window.cast<double>()) {
    violate(
        fmt::format("window: rank {} plans rearrangement {} from other counts than the newest "
                    "recorded steps",
                    rank.value, request.rearrangement));
  }
}

}  // namespace eplb::sim
