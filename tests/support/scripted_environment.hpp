#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "eplb/core/env/environment.hpp"
#include "scripted_control_plane.hpp"
#include "scripted_devices.hpp"

namespace eplb::test {

/// Every forward has the same counts; passes with a use land when the test says so.
class ScriptedRecorder final : public env::LoadRecorder {
 public:
  struct Closed {
    std::int64_t step;
    bool record;
    bool log;

    friend bool operator==(const Closed&, const Closed&) = default;
  };

  [[nodiscard]] bool counts_here() const override { return counts; }

  void set_recording(bool recording) override { gate.push_back(recording); }

  void close_pass(std::int64_t step, env::PassUse use) override {
    closed.push_back({.step = step, .record = use.record, .log = use.log});
    if (counts && (use.record || use.log)) {
      under_way_.push_back({.step = step,
                            .use = use,
                            .logical = logical,
                            .physical = use.log ? physical : LoadMatrix()});
    }
  }

  [[nodiscard]] const env::RecordedPass* try_take() override {
    if (under_way_.empty() || held_back ||
        (a_step_late && under_way_.front().step == closed.back().step)) {
      return nullptr;
    }
    taken_ = std::move(under_way_.front());
    under_way_.pop_front();
    return &taken_;
  }

  bool counts = true;
  bool held_back = false;
  bool a_step_late = false;  ///< A pass lands when the next one is closed.
  LoadMatrix logical;        ///< Counts of a forward, [layers, experts].
  LoadMatrix physical;       ///< The same by slot, [layers, slots].
  std::vector<bool> gate;
  std::vector<Closed> closed;

 private:
  std::deque<env::RecordedPass> under_way_;
  env::RecordedPass taken_;
};

class ScriptedPlanner final : public env::Planner {
 public:
  void submit(PlanRequest request) override { requests.push_back(std::move(request)); }

  [[nodiscard]] std::optional<env::PlanAnswer> poll() override {
    if (answers.empty()) {
      return std::nullopt;
    }
    env::PlanAnswer answer = std::move(answers.front());
    answers.pop_front();
    return answer;
  }

  /// Answers a request with the way to `after`.
  void answer(const PlanRequest& request, const Placement& after) {
    answers.push_back({.rearrangement = request.rearrangement,
                       .schedule = std::make_shared<const MigrationSchedule>(
                           schedule_migration(*request.current, after, request.schedule))});
  }

  std::vector<PlanRequest> requests;
  std::deque<env::PlanAnswer> answers;
};

class ScriptedPublisher final : public env::MapPublisher {
 public:
  void publish(LayerId layer, const LayerMap& map, env::PlacementEpoch epoch) override {
    published.emplace_back(layer.value, epoch);
    maps.push_back(map);
  }

  std::vector<std::pair<std::int32_t, env::PlacementEpoch>> published;  ///< Layer, epoch.
  std::vector<LayerMap> maps;
};

class ScriptedTraceSink final : public env::TraceSink {
 public:
  void record(const env::TraceRecord& record) override { records.push_back(record); }

  [[nodiscard]] std::int64_t count(env::TraceEvent event) const {
    return std::ranges::count(records, event, &env::TraceRecord::event);
  }

  std::vector<env::TraceRecord> records;
};

/// Points that fire at each visit.
class ScriptedFaultPoints final : public env::FaultPoints {
 public:
  [[nodiscard]] bool fires(env::FaultPoint point) override { return firing.contains(point); }

  [[nodiscard]] bool fires_alike(env::FaultPoint point, std::int64_t /*occasion*/) const override {
    return firing.contains(point);
  }

  std::set<env::FaultPoint> firing;
};

/// The world of one rank, driven by hand: what comes from outside comes when the test says so, and
/// every command of the balancer is kept.
struct ScriptedEnvironment {
  ScriptedEnvironment(RankId rank, std::int32_t rank_count) : control_plane(rank, rank_count) {}

  [[nodiscard]] env::Environment environment() {
    return {.clock = clock,
            .queues = {.forward = forward, .migration = migration},
            .memory = memory,
            .transport = transport,
            .control_plane = control_plane,
            .load_recorder = recorder,
            .map_publisher = publisher,
            .planner = planner,
            .trace_sink = trace,
            .fault_points = faults};
  }

  ScriptedClock clock;
  ScriptedQueue forward;
  ScriptedQueue migration;
  ScriptedMemory memory;
  ScriptedTransport transport;
  ScriptedControlPlane control_plane;
  ScriptedRecorder recorder;
  ScriptedPlanner planner;
  ScriptedPublisher publisher;
  ScriptedTraceSink trace;
  ScriptedFaultPoints faults;
};

}  // namespace eplb::test
