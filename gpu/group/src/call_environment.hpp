#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "eplb/group/recorded_calls.hpp"

namespace eplb::group {

/// An environment in which every call is one of `call`, and comes to `Desk::ask(call)`, which gives
/// its answer by reference; that stays valid as long as the desk does.
template <typename Desk>
class CallEnvironment {
 public:
  explicit CallEnvironment(Desk& desk)
      : clock_(desk),
        forward_(desk, QueueName::kForward),
        migration_(desk, QueueName::kMigration),
        memory_(desk),
        transport_(desk),
        control_plane_(desk),
        load_recorder_(desk),
        map_publisher_(desk),
        planner_(desk),
        trace_sink_(desk),
        fault_points_(desk) {}

  [[nodiscard]] env::Environment environment() {
    return {.clock = clock_,
            .queues = {.forward = forward_, .migration = migration_},
            .memory = memory_,
            .transport = transport_,
            .control_plane = control_plane_,
            .load_recorder = load_recorder_,
            .map_publisher = map_publisher_,
            .planner = planner_,
            .trace_sink = trace_sink_,
            .fault_points = fault_points_};
  }

 private:
  template <typename Value>
  [[nodiscard]] static const Value* address_of(const std::optional<Value>& answer) {
    return answer.has_value() ? &*answer : nullptr;
  }

  template <typename Value>
  [[nodiscard]] static std::vector<Value> copy_of(std::span<const Value> values) {
    return {values.begin(), values.end()};
  }

  struct Clock final : env::Clock {
    explicit Clock(Desk& at) : desk(at) {}

    [[nodiscard]] std::int64_t now_ns() const override { return desk.ask(call::Now{}); }

    Desk& desk;
  };

  struct Queue final : env::Queue {
    Queue(Desk& at, QueueName of) : desk(at), name(of) {}

    void copy(std::span<const RowCopy> copies) override {
      desk.ask(call::Copy{.queue = name, .copies = copy_of(copies)});
    }

    [[nodiscard]] env::Ticket signal() override { return desk.ask(call::Signal{.queue = name}); }

    // A balancer knows no other queues than those of its environment.
    void wait(const env::Queue& other, env::Ticket ticket) override {
      desk.ask(call::Wait{
          .queue = name, .other = static_cast<const Queue&>(other).name, .ticket = ticket});
    }

    [[nodiscard]] env::Completion poll(env::Ticket ticket) const override {
      return desk.ask(call::PollQueue{.queue = name, .ticket = ticket});
    }

    Desk& desk;
    QueueName name;
  };

  struct Memory final : env::Memory {
    explicit Memory(Desk& at) : desk(at) {}

    [[nodiscard]] Result<void> reserve(const env::MemoryLayout& layout) override {
      return desk.ask(call::Reserve{.layout = layout});
    }

    void release() override { desk.ask(call::Release{}); }

    Desk& desk;
  };

  struct Transport final : env::Transport {
    explicit Transport(Desk& at) : desk(at) {}

    [[nodiscard]] env::TransportTraits traits() const override { return desk.ask(call::Traits{}); }

    [[nodiscard]] Result<env::Ticket> start(std::span<const RowCopy> copies) override {
      return desk.ask(call::Start{.copies = copy_of(copies)});
    }

    [[nodiscard]] env::Completion poll(env::Ticket ticket) const override {
      return desk.ask(call::PollTransport{.ticket = ticket});
    }

    void cancel() override { desk.ask(call::Cancel{}); }

    Desk& desk;
  };

  struct ControlPlane final : env::ControlPlane {
    explicit ControlPlane(Desk& at) : desk(at) {}

    [[nodiscard]] RankId rank() const override { return desk.ask(call::Rank{}); }

    void post(const Status& status) override { desk.ask(call::Post{.status = status}); }

    [[nodiscard]] const Status* find(RankId rank, const RoundKey& key) const override {
      return address_of(desk.ask(call::Find{.rank = rank, .key = key}));
    }

    void post_retired(std::int64_t rearrangement, std::int32_t layers) override {
      desk.ask(call::PostRetired{.rearrangement = rearrangement, .layers = layers});
    }

    [[nodiscard]] std::int32_t retired(RankId rank, std::int64_t rearrangement) const override {
      return desk.ask(call::Retired{.rank = rank, .rearrangement = rearrangement});
    }

    void post_heartbeat() override { desk.ask(call::PostHeartbeat{}); }

    [[nodiscard]] std::int64_t heard_ns(RankId rank) const override {
      return desk.ask(call::Heard{.rank = rank});
    }

    void start_sum(const env::SumKey& key, std::span<const double> values) override {
      desk.ask(call::StartSum{.key = key, .values = copy_of(values)});
    }

    [[nodiscard]] std::shared_ptr<const std::vector<double>> try_take_sum(
        const env::SumKey& key) override {
      return desk.ask(call::TakeSum{.key = key});
    }

    void end_group(const Failure& failure) override {
      desk.ask(call::EndGroup{.failure = failure});
    }

    [[nodiscard]] std::optional<Failure> group_failure() const override {
      return desk.ask(call::GroupFailure{});
    }

    Desk& desk;
  };

  struct LoadRecorder final : env::LoadRecorder {
    explicit LoadRecorder(Desk& at) : desk(at) {}

    [[nodiscard]] bool counts_here() const override { return desk.ask(call::CountsHere{}); }

    void set_recording(bool recording) override {
      desk.ask(call::SetRecording{.recording = recording});
    }

    void close_pass(std::int64_t step, env::PassUse use) override {
      desk.ask(call::ClosePass{.step = step, .use = use});
    }

    [[nodiscard]] const env::RecordedPass* try_take() override {
      return address_of(desk.ask(call::TakePass{}));
    }

    Desk& desk;
  };

  struct MapPublisher final : env::MapPublisher {
    explicit MapPublisher(Desk& at) : desk(at) {}

    void publish(LayerId layer, const LayerMap& map, env::PlacementEpoch epoch) override {
      desk.ask(call::Publish{
          .layer = layer, .map = std::make_shared<const LayerMap>(map), .epoch = epoch});
    }

    Desk& desk;
  };

  struct Planner final : env::Planner {
    explicit Planner(Desk& at) : desk(at) {}

    void submit(PlanRequest request) override {
      desk.ask(call::Submit{.request = std::make_shared<const PlanRequest>(std::move(request))});
    }

    [[nodiscard]] std::optional<env::PlanAnswer> poll() override {
      return desk.ask(call::PollPlan{});
    }

    Desk& desk;
  };

  struct TraceSink final : env::TraceSink {
    explicit TraceSink(Desk& at) : desk(at) {}

    void record(const env::TraceRecord& record) override {
      desk.ask(call::Record{.record = record});
    }

    Desk& desk;
  };

  struct FaultPoints final : env::FaultPoints {
    explicit FaultPoints(Desk& at) : desk(at) {}

    [[nodiscard]] bool fires(env::FaultPoint point) override {
      return desk.ask(call::Fires{.point = point});
    }

    [[nodiscard]] bool fires_alike(env::FaultPoint point, std::int64_t occasion) const override {
      return desk.ask(call::FiresAlike{.point = point, .occasion = occasion});
    }

    Desk& desk;
  };

  Clock clock_;
  Queue forward_;
  Queue migration_;
  Memory memory_;
  Transport transport_;
  ControlPlane control_plane_;
  LoadRecorder load_recorder_;
  MapPublisher map_publisher_;
  Planner planner_;
  TraceSink trace_sink_;
  FaultPoints fault_points_;
};

}  // namespace eplb::group
