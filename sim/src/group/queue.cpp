#include "eplb/sim/group/queue.hpp"

#include <utility>

#include "eplb/core/assert.hpp"

namespace eplb::sim {
namespace {

/// Of its events, which are ends of calls.
constexpr std::int64_t kCallEnded = 0;

}  // namespace

void SimQueue::copy(std::span<const RowCopy> copies) {
  append(Copies{.copies = {copies.begin(), copies.end()}});
}

env::Ticket SimQueue::signal() {
  ++issued_.value;
  append(Mark{.ticket = issued_});
  return env::Ticket{issued_.value};
}

void SimQueue::wait(const env::Queue& other, env::Ticket ticket) {
  const auto& queue = dynamic_cast<const SimQueue&>(other);
  if (ticket > queue.issued_) {
    return;
  }
  append(Wait{.queue = &queue, .ticket = ticket});
}

env::Completion SimQueue::poll(env::Ticket ticket) const {
  if (ticket <= reached_) {
    return env::Completion::kDone;
  }
  return failed_ ? env::Completion::kFailed : env::Completion::kPending;
}

void SimQueue::call(std::int64_t duration_ns, std::function<void()> effect) {
  append(Call{.duration_ns = duration_ns, .effect = std::move(effect)});
}

void SimQueue::forward() {
  append(Forward{});
}

void SimQueue::finish_forward() {
  EPLB_ASSERT(busy_ && std::holds_alternative<Forward>(operations_.front()));
  end_front();
}

void SimQueue::append(Operation operation) {
  operations_.push_back(std::move(operation));
  run();
}

// A queue that ends a mark lets those that wait for it run on, which may end marks of their own: no
// deeper than there are queues.
// NOLINTBEGIN(misc-no-recursion): as deep as there are queues.
void SimQueue::run() {
  while (!busy_ && !failed_ && !halted_ && !operations_.empty()) {
    busy_ = true;
    if (!begin(operations_.front())) {
      return;
    }
    busy_ = false;
    operations_.pop_front();
  }
}

bool SimQueue::begin(const Operation& operation) {
  if (const auto* copies = std::get_if<Copies>(&operation)) {
    copies_under_way_ = copies->copies.size();
    copies_since_ns_ = engine_.now_ns();
    for (const RowCopy& copy : copies->copies) {
      rows_.begin_copy(copy);
    }
    for (std::size_t index = 0; index < copies->copies.size(); ++index) {
      const RowCopy& copy = copies->copies[index];
      const RowAddress& layer_row =
          copy.source.region == kLandingRegion ? copy.destination : copy.source;
      carrier_.copy_locally(copy, rows_.row_bytes(layer_row), *this,
                            static_cast<std::int64_t>(index));
    }
    return copies->copies.empty();
  }
  if (const auto* mark = std::get_if<Mark>(&operation)) {
    reached_ = mark->ticket;
    host_.wake();
    resume_waiters();
    return true;
  }
  if (const auto* wait = std::get_if<Wait>(&operation)) {
    const env::Completion waited = wait->queue->poll(wait->ticket);
    if (waited == env::Completion::kPending) {
      wait->queue->waiters_.push_back(this);
    } else if (waited == env::Completion::kFailed) {
      fail();
    }
    return waited == env::Completion::kDone;
  }
  if (const auto* call = std::get_if<Call>(&operation)) {
    engine_.schedule(engine_.now_ns() + call->duration_ns, Phase::kCompletion, *this, kCallEnded);
    return false;
  }
  host_.forward_reached();
  return false;
}

// The operation at the front stays there for ever, as on a device whose context is broken.
void SimQueue::fail() {
  failed_ = true;
  host_.wake();
  resume_waiters();
}

void SimQueue::resume_waiters() {
  for (SimQueue* waiter : std::exchange(waiters_, {})) {
    waiter->busy_ = false;
    waiter->run();
  }
}

// NOLINTEND(misc-no-recursion): all of it.

void SimQueue::on_event(const Event& /*event*/) {
  if (!halted_) {
    std::get<Call>(operations_.front()).effect();
    end_front();
  }
}

void SimQueue::row_carried(std::int64_t token, bool failed) {
  if (halted_) {
    return;
  }
  const auto& copies = std::get<Copies>(operations_.front()).copies;
  rows_.end_copy(copies[static_cast<std::size_t>(token)], failed);
  any_copy_failed_ = any_copy_failed_ || failed;
  if (--copies_under_way_ > 0) {
    return;
  }
  if (shown_.trace != nullptr) {
    shown_.trace->queue_copied(shown_.rank, shown_.name, copies.size(), copies_since_ns_);
  }
  if (any_copy_failed_) {
    fail();
  } else {
    end_front();
  }
}

void SimQueue::end_front() {
  busy_ = false;
  operations_.pop_front();
  run();
}

}  // namespace eplb::sim
