#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "eplb/core/balancer.hpp"
#include "immediate_board.hpp"
#include "immediate_rows.hpp"
#include "scripted_environment.hpp"

namespace eplb::test {

/// Plans as soon as it is asked.
class ImmediatePlanner final : public env::Planner {
 public:
  explicit ImmediatePlanner(const PlacementPolicy& policy) : policy_(policy) {}

  void submit(PlanRequest request) override {
    answers_.push_back(
        {.rearrangement = request.rearrangement, .schedule = plan_rearrangement(request, policy_)});
  }

  [[nodiscard]] std::optional<env::PlanAnswer> poll() override {
    if (answers_.empty()) {
      return std::nullopt;
    }
    env::PlanAnswer answer = std::move(answers_.front());
    answers_.pop_front();
    return answer;
  }

 private:
  const PlacementPolicy& policy_;
  std::deque<env::PlanAnswer> answers_;
};

/// Real balancers of all ranks of a group, in one world without delays, in which every step checks
/// that all ranks have committed the same and that each slot holds its expert.
class ImmediateGroup {
 public:
  /// One rank's world.
  struct Rank {
    Rank(RankId id, const PlacementPolicy& policy, env::TransferSide side, ImmediateGroup& group)
        : forward(group.rows),
          migration(group.rows),
          transport(side, group.rows),
          control_plane(id, group.board),
          planner(policy) {}

    ImmediateQueue forward;
    ImmediateQueue migration;
    ImmediateTransport transport;
    ScriptedMemory memory;
    ImmediateControlPlane control_plane;
    ScriptedRecorder recorder;
    ScriptedPublisher publisher;
    ImmediatePlanner planner;
    ScriptedTraceSink trace;
    ScriptedFaultPoints faults;
    std::unique_ptr<Balancer> balancer;
    bool steps = true;       ///< Else its forwards have stopped.
    bool progresses = true;  ///< Else its migration's helper is gone.
  };

  ImmediateGroup(const Shape& shape, const PlacementPolicy& policy,
                 env::TransferSide side = env::TransferSide::kSender) {
    board.rank_count = shape.rank_count;
    for (std::int32_t index = 0; index < shape.rank_count; ++index) {
      Rank& rank = *ranks.emplace_back(std::make_unique<Rank>(RankId{index}, policy, side, *this));
      rank.recorder.logical = LoadMatrix::Ones(shape.layer_count, shape.expert_count);
      rank.recorder.physical = LoadMatrix::Ones(shape.layer_count, shape.slot_count());
    }
  }

  ImmediateGroup(const ImmediateGroup&) = delete;
  ImmediateGroup& operator=(const ImmediateGroup&) = delete;
  ImmediateGroup(ImmediateGroup&&) = delete;
  ImmediateGroup& operator=(ImmediateGroup&&) = delete;
  ~ImmediateGroup() = default;

  [[nodiscard]] env::Environment environment(std::size_t index) {
    Rank& rank = *ranks[index];
    return {.clock = clock,
            .queues = {.forward = rank.forward, .migration = rank.migration},
            .memory = rank.memory,
            .transport = rank.transport,
            .control_plane = rank.control_plane,
            .load_recorder = rank.recorder,
            .map_publisher = rank.publisher,
            .planner = rank.planner,
            .trace_sink = rank.trace,
            .fault_points = rank.faults};
  }

  /// Makes all balancers, with the weights of the initial placement in place.
  void start(const Balancer::Settings& settings) {
    rows.load(Placement::initial(settings.shape));
    for (std::size_t index = 0; index < ranks.size(); ++index) {
      ranks[index]->balancer = Balancer::create(settings, environment(index)).value();
    }
  }

  [[nodiscard]] Balancer& balancer(std::size_t index) { return *ranks[index]->balancer; }

  /// A step of every rank that steps, with progress between their calls. kProceed or kStop if all
  /// of them say so, kHold if they still hold after many calls.
  StepDecision step() {
    std::vector<Rank*> waiting;
    for (const auto& rank : ranks) {
      if (rank->steps) {
        waiting.push_back(rank.get());
      }
    }
    StepDecision last = StepDecision::kHold;
    for (int call = 0; call < 100 && !waiting.empty(); ++call) {
      std::erase_if(waiting, [&](Rank* rank) {
        const StepDecision decision = rank->balancer->on_step(StepKind::kReal);
        if (decision == StepDecision::kHold) {
          return false;
        }
        // The end of a group is no agreement: some may have gone on when it comes.
        REQUIRE((last == StepDecision::kHold || last == decision || board.end.has_value()));
        last = last == StepDecision::kStop ? last : decision;
        return true;
      });
      progress();
    }
    if (!waiting.empty()) {
      return StepDecision::kHold;
    }
    check();
    return last;
  }

  void steps(int count) {
    for (int i = 0; i < count; ++i) {
      REQUIRE(step() == StepDecision::kProceed);
    }
  }

  ScriptedClock clock;
  ImmediateBoard board;
  ExpertRows rows;
  std::vector<std::unique_ptr<Rank>> ranks;

 private:
  void progress() {
    bool more = true;
    for (int call = 0; more; ++call) {
      REQUIRE(call < 1000);
      more = false;
      for (const auto& rank : ranks) {
        more = (rank->progresses && rank->balancer->progress()) || more;
      }
    }
  }

  void check() const {
    const Rank* first = nullptr;
    for (const auto& rank : ranks) {
      if (!rank->steps) {
        continue;
      }
      first = first == nullptr ? rank.get() : first;
      REQUIRE(rank->balancer->placement() == first->balancer->placement());
      for (std::int32_t layer = 0; layer < rank->balancer->settings().shape.layer_count; ++layer) {
        REQUIRE(rank->balancer->epoch(LayerId{layer}) == first->balancer->epoch(LayerId{layer}));
      }
      REQUIRE(rows.hold(rank->balancer->placement()));
    }
  }
};

}  // namespace eplb::test
