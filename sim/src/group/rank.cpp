#include "eplb/sim/group/rank.hpp"

#include "eplb/core/assert.hpp"

namespace eplb::sim {
namespace {

constexpr std::int64_t kStepEnded = 0;
constexpr std::int64_t kPoll = 1;
constexpr std::int64_t kPollAgain = 2;

/// How often a rank that waits looks again though nothing has woken it: so that deadlines pass.
constexpr std::int64_t kIdlePollNs = 1'000'000;

}  // namespace

SimRank::SimRank(const GroupParts& parts, ForwardGate& gate, env::FaultPoints& fault_points,
                 const Placement& initial, const Options& options)
    : parts_(parts),
      gate_(gate),
      fault_points_(fault_points),
      rank_(options.rank),
      clock_(parts.engine),
      forward_(parts.engine, parts.rows, parts.carrier, *this),
      migration_(parts.engine, parts.rows, parts.carrier, *this),
      memory_(parts.rows, parts.timing, options.rank),
      transport_(parts.wire, parts.timing, *this, options.rank, options.traits),
      control_plane_(parts.post, *this, options.rank, options.rank_count),
      recorder_(parts.engine, parts.timing, *this, parts.violations,
                {.rank = options.rank, .counts_here = options.counts_here}),
      maps_(forward_, parts.timing, options.rank, initial),
      planner_(parts.engine, parts.timing, *this, parts.plan_desk, options.rank) {
  parts.post.join(control_plane_);
  if (parts.trace != nullptr) {
    forward_.show(*parts.trace, rank_, "forward queue");
    migration_.show(*parts.trace, rank_, "migration queue");
  }
}

env::Environment SimRank::environment() {
  return {.clock = clock_,
          .queues = {.forward = forward_, .migration = migration_},
          .memory = memory_,
          .transport = transport_,
          .control_plane = control_plane_,
          .load_recorder = recorder_,
          .map_publisher = maps_,
          .planner = planner_,
          .trace_sink = parts_.trace_sink,
          .fault_points = fault_points_};
}

void SimRank::resume() {
  if (!lost_ && !stopped_) {
    forward_.forward();
  }
}

void SimRank::lose() {
  lost_ = true;
  if (parts_.trace != nullptr) {
    parts_.trace->rank_lost(rank_);
  }
  forward_.halt();
  migration_.halt();
  parts_.wire.lose(rank_);
  parts_.post.lose(rank_);
}

void SimRank::revive_helper() {
  helper_alive_ = true;
  wake();
}

void SimRank::forward_reached() {
  gate_.arrive(rank_);
}

void SimRank::end_forward() {
  if (lost_ || stopped_) {
    return;
  }
  forward_.finish_forward();
  parts_.engine.schedule(parts_.engine.now_ns() + parts_.timing.host_ns(rank_), Phase::kStart,
                         *this, kStepEnded);
}

void SimRank::wake() {
  if (poll_scheduled_ || lost_ || stopped_ || balancer_ == nullptr) {
    return;
  }
  poll_scheduled_ = true;
  parts_.engine.schedule(parts_.engine.now_ns() + parts_.timing.poll_ns(rank_), Phase::kStart,
                         *this, kPoll);
}

void SimRank::on_event(const Event& event) {
  if (lost_ || stopped_) {
    return;
  }
  if (event.argument == kStepEnded) {
    held_since_ns_ = parts_.engine.now_ns();
    ask();
    wake();
    return;
  }
  if (event.argument == kPoll) {
    poll_scheduled_ = false;
  } else {
    poll_again_scheduled_ = false;
  }
  if (balancer_ != nullptr && (event.argument == kPoll || holding_)) {
    poll();
  }
}

void SimRank::poll() {
  if (helper_alive_ && balancer_->progress()) {
    wake();
  }
  if (holding_) {
    ask();
  } else if (balancer_->state() == MigrationState::kStopped) {
    stop();  // The forward that is under way never ends: the engine has to give it up.
  }
}

void SimRank::stop() {
  stopped_ = true;
  parts_.serving.stopped(rank_);
}

void SimRank::ask() {
  const StepDecision decision = balancer_ == nullptr
                                    ? StepDecision::kProceed
                                    : balancer_->on_step(parts_.serving.kind_of(rank_));
  const bool held_before = holding_;
  holding_ = decision == StepDecision::kHold;
  if (holding_) {
    hold_count_ += held_before ? 0 : 1;
    if (!poll_again_scheduled_) {  // A poll that something woke has one ahead of it already.
      poll_again_scheduled_ = true;
      parts_.engine.schedule(parts_.engine.now_ns() + kIdlePollNs, Phase::kStart, *this,
                             kPollAgain);
    }
    return;
  }
  if (held_before) {
    hold_ns_ += parts_.engine.now_ns() - held_since_ns_;
    if (parts_.trace != nullptr) {
      parts_.trace->held(rank_, held_since_ns_);
    }
  }
  if (decision == StepDecision::kStop) {
    stop();
  } else if (parts_.serving.proceeds(rank_)) {
    forward_.forward();
  }
}

}  // namespace eplb::sim
