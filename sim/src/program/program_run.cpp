#include "eplb/sim/program/program_run.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "eplb/core/digest.hpp"
#include "eplb/sim/event_engine.hpp"
#include "eplb/sim/random_stream.hpp"
#include "execution.hpp"
#include "program_trace.hpp"
#include "wait_graph.hpp"

namespace eplb::sim {
namespace {

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

Result<void> check(const Program& program) {
  std::string text;
  for (const ProgramProblem& problem : problems_of(program)) {
    text += fmt::format("{}thread {}, operation {}: {}", text.empty() ? "" : "; ", problem.thread,
                        problem.operation, problem.message);
  }
  if (!text.empty()) {
    return fail(ErrorCode::kInvalidArgument, std::move(text));
  }
  return {};
}

/// Takes the steps of an execution when they are due.
class TimedRun final : public EventHandler {
 public:
  /// `trace` may be null.
  TimedRun(const Program& program, const CompiledProgram& compiled, std::uint64_t seed,
           ProgramTrace* trace = nullptr)
      : trace_(trace),
        execution_(compiled),
        random_(seed, "program"),
        host_ns_(std::llround(program.host_operation_us * 1e3)),
        jitter_ns_(std::llround(program.jitter_us * 1e3)),
        watchdog_ns_(std::llround(program.watchdog_ms * 1e6)),
        run_ns_(std::llround(program.run_ms * 1e6)),
        waiting_since_(compiled.threads.size(), kNotWaiting) {}

  ProgramResult run() {
    for (std::int32_t thread = 0; at(thread) < waiting_since_.size(); ++thread) {
      schedule_thread(thread);
    }
    ProgramResult result;
    while (!result.hang.has_value() && engine_.run_next()) {
      settle();
      if (engine_.now_ns() >= run_ns_ && engine_.pending_count() > 0) {
        result.was_left = true;
        break;
      }
      result.hang = watch();
    }
    if (!result.hang.has_value() && !result.was_left && !execution_.is_finished()) {
      result.hang = WaitGraph(execution_).explain();
      result.hang->at_ns = engine_.now_ns();
    }
    result.simulated_ns = engine_.now_ns();
    result.host_operation_count = host_count_;
    result.device_operation_count = static_cast<std::int64_t>(execution_.op_count());
    execution_.add_to(digest_);
    result.digest = digest_.value();
    if (trace_ != nullptr) {
      trace_->finish(execution_, waiting_since_, result);
    }
    return result;
  }

  void on_event(const Event& event) override {
    if (event.argument < 0) {
      const Step step = ends_[at(-event.argument - 1)];
      take(step);
      return;
    }
    const auto thread = static_cast<std::int32_t>(event.argument);
    execution_.reach(thread);
    waiting_since_[at(thread)] = engine_.now_ns();
    continue_thread(thread);
  }

 private:
  static constexpr std::int64_t kNotWaiting = -1;

  void schedule_thread(std::int32_t thread, std::int64_t extra_ns = 0) {
    if (execution_.has_ended(thread)) {
      return;
    }
    const std::int64_t jitter =
        jitter_ns_ > 0
            ? static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(jitter_ns_) + 1))
            : 0;
    engine_.schedule(engine_.now_ns() + host_ns_ + jitter + extra_ns, Phase::kStart, *this, thread);
  }

  /// Whether the thread went on.
  bool continue_thread(std::int32_t thread) {
    if (waiting_since_[at(thread)] == kNotWaiting || !execution_.can_continue(thread)) {
      return false;
    }
    const std::int64_t since_ns = std::exchange(waiting_since_[at(thread)], kNotWaiting);
    const Instruction& next = execution_.next_of(thread);
    if (trace_ != nullptr) {
      trace_->host_did(thread, next, since_ns, engine_.now_ns());
    }
    const std::int64_t sleep_ns = next.code == Code::kSleep ? next.duration_ns : 0;
    take({.kind = Step::Kind::kHost, .index = thread});
    ++host_count_;
    schedule_thread(thread, sleep_ns);
    return true;
  }

  void take(const Step& step) {
    digest_.add(engine_.now_ns());
    digest_.add(static_cast<std::int64_t>(step.kind));
    digest_.add(step.index);
    execution_.take(step);
    if (trace_ == nullptr) {
      return;
    }
    if (step.kind == Step::Kind::kStart) {
      trace_->started(step.index, engine_.now_ns());
    } else if (step.kind == Step::Kind::kEnd && execution_.is_done(step.index)) {
      trace_->ended(execution_, step.index, engine_.now_ns());
    }
  }

  /// Everything that can happen now and takes no time happens now.
  void settle() {
    for (bool changed = true; changed;) {
      changed = false;
      const std::vector<std::int32_t> live = execution_.live_ops();
      for (const std::int32_t op : live) {
        while (execution_.can_start(op)) {
          take({.kind = Step::Kind::kStart, .index = op});
          changed = true;
        }
      }
      for (std::int32_t thread = 0; at(thread) < waiting_since_.size(); ++thread) {
        changed = continue_thread(thread) || changed;
      }
    }
    for (const std::int32_t op : execution_.live_ops()) {
      schedule_ends(op);
    }
  }

  void schedule_ends(std::int32_t op) {
    const DeviceOp& one = execution_.op(op);
    scheduled_.resize(execution_.op_count(), 0);
    const bool is_plain = execution_.kernel_of(one) != nullptr &&
                          execution_.kernel_of(one)->kind == KernelKind::kPlain;
    const std::size_t count = is_plain ? one.batches.size() : 1;
    for (std::size_t& batch = scheduled_[at(op)];
         batch < count && execution_.can_end(op, static_cast<std::int32_t>(batch)); ++batch) {
      ends_.push_back(
          {.kind = Step::Kind::kEnd, .index = op, .batch = static_cast<std::int32_t>(batch)});
      engine_.schedule(engine_.now_ns() + execution_.instruction_of(one).duration_ns,
                       Phase::kCompletion, *this, -static_cast<std::int64_t>(ends_.size()));
    }
  }

  /// Looks for what has waited longer than the watchdog allows.
  std::optional<Hang> watch() {
    if (engine_.now_ns() < next_watch_ns_) {
      return std::nullopt;
    }
    // Twice a deadline is often enough, and keeps a long run cheap.
    next_watch_ns_ = engine_.now_ns() + watchdog_ns_ / 2;
    note_queued();
    const std::int64_t limit = engine_.now_ns() - watchdog_ns_;
    std::int32_t starved = kNone;
    auto node = static_cast<std::int32_t>(waiting_since_.size());
    for (std::int32_t thread = 0; thread < node && starved == kNone; ++thread) {
      const std::int64_t since = waiting_since_[at(thread)];
      starved = since != kNotWaiting && since <= limit ? thread : kNone;
    }
    for (const std::int32_t op : execution_.live_ops()) {
      const bool is_late = execution_.op(op).state == DeviceState::kQueued &&
                           queued_since_[at(op)] != kNotWaiting && queued_since_[at(op)] <= limit;
      starved = starved == kNone && is_late ? node : starved;
      ++node;
    }
    if (starved == kNone) {
      return std::nullopt;
    }
    Execution reached = execution_;
    for (std::int32_t thread = 0; at(thread) < waiting_since_.size(); ++thread) {
      reached.reach(thread);
    }
    const WaitGraph graph(reached);
    Hang hang = graph.has_stuck() ? graph.explain() : graph.explain_starved(starved);
    hang.kind = hang.kind == HangKind::kMissingPeer ? HangKind::kStall : hang.kind;
    hang.at_ns = engine_.now_ns();
    return hang;
  }

  /// A queued operation is taken to wait from when the watchdog first sees it.
  void note_queued() {
    queued_since_.resize(execution_.op_count(), kNotWaiting);
    for (const std::int32_t op : execution_.live_ops()) {
      std::int64_t& since = queued_since_[at(op)];
      since = since == kNotWaiting ? engine_.now_ns() : since;
    }
  }

  EventEngine engine_;
  ProgramTrace* trace_;
  Execution execution_;
  RandomStream random_;
  std::int64_t host_ns_;
  std::int64_t jitter_ns_;
  std::int64_t watchdog_ns_;
  std::int64_t run_ns_;
  std::vector<std::int64_t> waiting_since_;  ///< By thread.
  std::vector<std::int64_t> queued_since_;   ///< By operation.
  std::vector<std::size_t> scheduled_;       ///< Ends that are scheduled, by operation.
  std::vector<Step> ends_;
  std::int64_t next_watch_ns_ = 0;
  std::int64_t host_count_ = 0;
  Digest digest_;
};

}  // namespace

Result<ProgramResult> run_program(const Program& program, std::uint64_t seed, Timeline* timeline) {
  if (auto legal = check(program); !legal) {
    return tl::unexpected(std::move(legal).error());
  }
  const CompiledProgram compiled = compile(program);
  if (timeline == nullptr) {
    return TimedRun(program, compiled, seed).run();
  }
  ProgramTrace trace(compiled, *timeline);
  return TimedRun(program, compiled, seed, &trace).run();
}

Result<Sweep> sweep_program(const Program& program, std::uint64_t first_seed) {
  if (auto legal = check(program); !legal) {
    return tl::unexpected(std::move(legal).error());
  }
  Program jittered = program;
  jittered.jitter_us = program.sweep_jitter_us;
  const CompiledProgram compiled = compile(jittered);
  Sweep sweep;
  for (; sweep.runs < program.sweep_seeds; ++sweep.runs) {
    const std::uint64_t seed = first_seed + static_cast<std::uint64_t>(sweep.runs);
    if (TimedRun(jittered, compiled, seed).run().hang.has_value()) {
      sweep.first_hanging_seed = sweep.hangs == 0 ? seed : sweep.first_hanging_seed;
      ++sweep.hangs;
    }
  }
  return sweep;
}

}  // namespace eplb::sim
