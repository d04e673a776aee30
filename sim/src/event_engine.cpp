#include "eplb/sim/event_engine.hpp"

#include <algorithm>
#include <tuple>

#include "eplb/core/assert.hpp"

namespace eplb::sim {
namespace {

/// Heap order: the earliest event on top.
bool comes_later(const Event& left, const Event& right) {
  return std::tie(left.time_ns, left.phase, left.sequence) >
         std::tie(right.time_ns, right.phase, right.sequence);
}

}  // namespace

EventEngine::EventEngine(std::size_t pending_count_max) {
  heap_.reserve(pending_count_max);
}

void EventEngine::schedule(std::int64_t time_ns, Phase phase, EventHandler& handler,
                           std::int64_t argument) {
  EPLB_ASSERT_OP(time_ns, >=, now_ns_);
  heap_.push_back({.time_ns = time_ns,
                   .phase = phase,
                   .sequence = next_sequence_++,
                   .handler = &handler,
                   .argument = argument});
  std::ranges::push_heap(heap_, comes_later);
}

bool EventEngine::run_next() {
  if (heap_.empty()) {
    return false;
  }
  std::ranges::pop_heap(heap_, comes_later);
  const Event event = heap_.back();
  heap_.pop_back();
  now_ns_ = event.time_ns;
  ++handled_count_;
  event.handler->on_event(event);
  return true;
}

}  // namespace eplb::sim
