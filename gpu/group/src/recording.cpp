#include "eplb/group/recording.hpp"

#include <utility>

#include "call_environment.hpp"

namespace eplb::group {

/// Passes each call on to the environment, and keeps it with the answer.
class Recording::Desk {
 public:
  explicit Desk(const env::Environment& environment) : environment_(environment), taps_(*this) {}

  template <typename Call>
  const typename Call::Answer& ask(Call call) {
    typename Call::Answer answer = make(call);
    return keep(Made<Call>{.call = std::move(call), .answer = std::move(answer)}).answer;
  }

  /// An entry stands before its calls, so its answer comes later.
  template <typename Call, typename Enter>
  typename Call::Answer enter(Call call, const Enter& enter_balancer) {
    Made<Call>& entry = keep(Made<Call>{.call = std::move(call)});
    entry.answer = enter_balancer();
    return entry.answer;
  }

  [[nodiscard]] env::Environment recorded() { return taps_.environment(); }

  [[nodiscard]] const RecordedCalls& calls() const { return calls_; }

 private:
  template <typename Call>
  Made<Call>& keep(Made<Call> made) {
    return std::get<Made<Call>>(calls_.emplace_back(std::move(made)));
  }

  [[nodiscard]] env::Queue& queue(QueueName name) const {
    return name == QueueName::kForward ? environment_.queues.forward
                                       : environment_.queues.migration;
  }

  std::int64_t make(const call::Now& /*call*/) { return environment_.clock.now_ns(); }

  Nothing make(const call::Copy& call) {
    queue(call.queue).copy(call.copies);
    return {};
  }

  env::Ticket make(const call::Signal& call) { return queue(call.queue).signal(); }

  Nothing make(const call::Wait& call) {
    queue(call.queue).wait(queue(call.other), call.ticket);
    return {};
  }

  env::Completion make(const call::PollQueue& call) { return queue(call.queue).poll(call.ticket); }

  Result<void> make(const call::Reserve& call) { return environment_.memory.reserve(call.layout); }

  Nothing make(const call::Release& /*call*/) {
    environment_.memory.release();
    return {};
  }

  env::TransportTraits make(const call::Traits& /*call*/) {
    return environment_.transport.traits();
  }

  Result<env::Ticket> make(const call::Start& call) {
    return environment_.transport.start(call.copies);
  }

  env::Completion make(const call::PollTransport& call) {
    return environment_.transport.poll(call.ticket);
  }

  Nothing make(const call::Cancel& /*call*/) {
    environment_.transport.cancel();
    return {};
  }

  RankId make(const call::Rank& /*call*/) { return environment_.control_plane.rank(); }

  Nothing make(const call::Post& call) {
    environment_.control_plane.post(call.status);
    return {};
  }

  std::optional<Status> make(const call::Find& call) {
    const Status* status = environment_.control_plane.find(call.rank, call.key);
    return status != nullptr ? std::optional(*status) : std::nullopt;
  }

  Nothing make(const call::PostRetired& call) {
    environment_.control_plane.post_retired(call.rearrangement, call.layers);
    return {};
  }

  std::int32_t make(const call::Retired& call) {
    return environment_.control_plane.retired(call.rank, call.rearrangement);
  }

  Nothing make(const call::PostHeartbeat& /*call*/) {
    environment_.control_plane.post_heartbeat();
    return {};
  }

  std::int64_t make(const call::Heard& call) {
    return environment_.control_plane.heard_ns(call.rank);
  }

  Nothing make(const call::StartSum& call) {
    environment_.control_plane.start_sum(call.key, call.values);
    return {};
  }

  std::shared_ptr<const std::vector<double>> make(const call::TakeSum& call) {
    return environment_.control_plane.try_take_sum(call.key);
  }

  Nothing make(const call::EndGroup& call) {
    environment_.control_plane.end_group(call.failure);
    return {};
  }

  std::optional<Failure> make(const call::GroupFailure& /*call*/) {
    return environment_.control_plane.group_failure();
  }

  bool make(const call::CountsHere& /*call*/) { return environment_.load_recorder.counts_here(); }

  Nothing make(const call::SetRecording& call) {
    environment_.load_recorder.set_recording(call.recording);
    return {};
  }

  Nothing make(const call::ClosePass& call) {
    environment_.load_recorder.close_pass(call.step, call.use);
    return {};
  }

  std::optional<env::RecordedPass> make(const call::TakePass& /*call*/) {
    const env::RecordedPass* pass = environment_.load_recorder.try_take();
    return pass != nullptr ? std::optional(*pass) : std::nullopt;
  }

  Nothing make(const call::Publish& call) {
    environment_.map_publisher.publish(call.layer, *call.map, call.epoch);
    return {};
  }

  Nothing make(const call::Submit& call) {
    environment_.planner.submit(*call.request);
    return {};
  }

  std::optional<env::PlanAnswer> make(const call::PollPlan& /*call*/) {
    return environment_.planner.poll();
  }

  Nothing make(const call::Record& call) {
    environment_.trace_sink.record(call.record);
    return {};
  }

  bool make(const call::Fires& call) { return environment_.fault_points.fires(call.point); }

  bool make(const call::FiresAlike& call) {
    return environment_.fault_points.fires_alike(call.point, call.occasion);
  }

  env::Environment environment_;
  RecordedCalls calls_;
  CallEnvironment<Desk> taps_;
};

Recording::Recording(const env::Environment& environment)
    : desk_(std::make_unique<Desk>(environment)) {}

Recording::~Recording() = default;

Result<std::unique_ptr<Balancer>> Recording::create(const Balancer::Settings& settings) {
  Result<std::unique_ptr<Balancer>> balancer;
  desk_->enter(call::Create{}, [&] {
    balancer = Balancer::create(settings, desk_->recorded());
    return balancer.has_value();
  });
  return balancer;
}

StepDecision Recording::on_step(Balancer& balancer, StepKind kind) {
  return desk_->enter(call::OnStep{.kind = kind}, [&] { return balancer.on_step(kind); });
}

bool Recording::progress(Balancer& balancer) {
  return desk_->enter(call::Progress{}, [&] { return balancer.progress(); });
}

void Recording::drain(Balancer& balancer) {
  desk_->enter(call::Drain{}, [&] {
    balancer.drain();
    return Nothing{};
  });
}

void Recording::resume(Balancer& balancer) {
  desk_->enter(call::Resume{}, [&] {
    balancer.resume();
    return Nothing{};
  });
}

Result<void> Recording::release_memory(Balancer& balancer) {
  return desk_->enter(call::ReleaseMemory{}, [&] { return balancer.release_memory(); });
}

Result<void> Recording::reserve_memory(Balancer& balancer) {
  return desk_->enter(call::ReserveMemory{}, [&] { return balancer.reserve_memory(); });
}

const RecordedCalls& Recording::calls() const {
  return desk_->calls();
}

}  // namespace eplb::group
