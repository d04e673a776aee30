#include "wait_graph.hpp"

#include <algorithm>

namespace eplb::sim {
namespace {

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

}  // namespace

WaitGraph::WaitGraph(const Execution& execution)
    : execution_(execution), nodes_of_ops_(execution.op_count(), kNone) {
  auto node = static_cast<std::int32_t>(execution.threads().size());
  for (const std::int32_t op : execution.live_ops()) {
    nodes_of_ops_[at(op)] = node++;
  }
  clauses_.resize(at(node));
  for (std::int32_t thread = 0; at(thread) < execution.threads().size(); ++thread) {
    if (!execution.has_ended(thread) && !execution.can_continue(thread)) {
      add_thread(thread);
    }
  }
  for (const std::int32_t op : execution.live_ops()) {
    add_op(op);
  }
  reduce();
}

bool WaitGraph::is_thread(std::int32_t node) const {
  return at(node) < execution_.threads().size();
}

std::int32_t WaitGraph::op_of(std::int32_t node) const {
  return execution_.live_ops()[at(node) - execution_.threads().size()];
}

std::int32_t WaitGraph::node_of(std::int32_t op) const {
  return nodes_of_ops_[at(op)];
}

std::int32_t WaitGraph::rank_of(std::int32_t node) const {
  return is_thread(node) ? execution_.program().threads[at(node)].rank
                         : execution_.op(op_of(node)).rank;
}

template <typename Does>
std::vector<std::int32_t> WaitGraph::threads_that_will(std::int32_t rank, Does does) const {
  std::vector<std::int32_t> threads;
  for (std::int32_t thread = 0; at(thread) < execution_.threads().size(); ++thread) {
    const CompiledThread& compiled = execution_.program().threads[at(thread)];
    if (rank != kNone && compiled.rank != rank) {
      continue;
    }
    // What stands in a repeat underway comes again.
    std::int32_t next = execution_.threads()[at(thread)].next;
    for (std::int32_t index = 0; index < next; ++index) {
      const Instruction& repeat = compiled.code[at(index)];
      if (repeat.code == Code::kRepeat && repeat.jump > next) {
        next = index;
      }
    }
    if (std::any_of(compiled.code.begin() + next, compiled.code.end(), does)) {
      threads.push_back(thread);
    }
  }
  return threads;
}

void WaitGraph::add_thread(std::int32_t thread) {
  const CompiledProgram& program = execution_.program();
  const Execution::ThreadState& state = execution_.threads()[at(thread)];
  const Instruction& next = execution_.next_of(thread);
  std::vector<WaitClause>& clauses = clauses_[at(thread)];
  const auto others_that = [&](std::int32_t rank, Code code) {
    std::vector<std::int32_t> threads =
        threads_that_will(rank, [&](const Instruction& instruction) {
          return instruction.code == code && instruction.object == next.object &&
                 !instruction.is_lost;
        });
    std::erase(threads, thread);
    return threads;
  };
  if (is_sync(next.code)) {
    for (const std::int32_t op : state.awaited) {
      if (!execution_.is_done(op)) {
        clauses.push_back({.reason = WaitReason::kSync, .targets = {node_of(op)}});
      }
    }
  } else if (next.code == Code::kLock) {
    clauses.push_back(
        {.reason = WaitReason::kMutex, .targets = {execution_.mutex_holder(next.object)}});
  } else if (next.code == Code::kAwait) {
    const std::int32_t rank = program.threads[at(thread)].rank;
    clauses.push_back({.reason = WaitReason::kFlag, .targets = others_that(rank, Code::kSet)});
  } else if (next.code == Code::kRecv) {
    const std::int32_t from = program.channels[at(next.object)].from;
    clauses.push_back(
        {.reason = WaitReason::kMessage, .targets = others_that(from, Code::kSend), .rank = from});
  } else if (next.code == Code::kBarrier) {
    for (const std::int32_t rank : program.barriers[at(next.object)].ranks) {
      if (execution_.arrivals(next.object, rank) < state.arrival) {
        clauses.push_back({.reason = WaitReason::kBarrier,
                           .targets = others_that(rank, Code::kBarrier),
                           .rank = rank});
      }
    }
  }
}

void WaitGraph::add_op(std::int32_t op) {
  const DeviceOp& one = execution_.op(op);
  std::vector<WaitClause>& clauses = clauses_[at(node_of(op))];
  if (one.state == DeviceState::kQueued) {
    if (!execution_.is_done(one.stream_before)) {
      clauses.push_back({.reason = WaitReason::kStream, .targets = {node_of(one.stream_before)}});
    }
    if (!execution_.is_done(one.awaited)) {
      clauses.push_back({.reason = WaitReason::kEvent, .targets = {node_of(one.awaited)}});
    }
    const std::vector<std::int32_t>& queue = execution_.queue(execution_.queue_of(one));
    const auto place = std::ranges::find(queue, op);
    if (place != queue.begin() && *(place - 1) != one.stream_before) {
      clauses.push_back({.reason = WaitReason::kQueue, .targets = {node_of(*(place - 1))}});
    }
    if (execution_.is_ready(op) && execution_.kernel_of(one) != nullptr) {
      add_kernel(op);
    }
  }
  const Kernel* kernel = execution_.kernel_of(one);
  if (kernel != nullptr && meets_peers(kernel->kind)) {
    add_peers(op);
  }
}

void WaitGraph::add_kernel(std::int32_t op) {
  const DeviceOp& one = execution_.op(op);
  std::vector<WaitClause>& clauses = clauses_[at(node_of(op))];
  if (const std::int32_t gang = execution_.barring_gang(op); gang != kNone) {
    clauses.push_back({.reason = WaitReason::kGang, .targets = {node_of(gang)}});
  }
  if (const std::int32_t holder = execution_.exclusive_holder(op); holder != kNone) {
    clauses.push_back({.reason = WaitReason::kExclusive, .targets = {node_of(holder)}});
  }
  if (!execution_.fits(op, execution_.pool(one.rank))) {
    WaitClause room{.reason = WaitReason::kRoom, .targets = {}};
    for (const std::int32_t other : execution_.live_ops()) {
      const DeviceOp& holder = execution_.op(other);
      const bool holds = std::ranges::any_of(holder.batches, &CtaBatch::is_running);
      if (other != op && holder.rank == one.rank && holds) {
        room.targets.push_back(node_of(other));
      }
    }
    clauses.push_back(std::move(room));
  }
}

void WaitGraph::add_peers(std::int32_t op) {
  const DeviceOp& one = execution_.op(op);
  const std::int32_t group = execution_.kernel_of(one)->group;
  const CompiledProgram& program = execution_.program();
  for (const std::int32_t rank : program.groups[at(group)].ranks) {
    const std::int32_t peer = execution_.peer(one, rank);
    if (peer == kNone) {
      clauses_[at(node_of(op))].push_back(
          {.reason = WaitReason::kPeer,
           .targets = threads_that_will(rank,
                                        [&](const Instruction& instruction) {
                                          return instruction.code == Code::kLaunch &&
                                                 program.kernels[at(instruction.object)].group ==
                                                     group;
                                        }),
           .rank = rank});
    } else if (peer != op && execution_.op(peer).state == DeviceState::kQueued) {
      clauses_[at(node_of(op))].push_back(
          {.reason = WaitReason::kPeer, .targets = {node_of(peer)}, .rank = rank});
    }
  }
}

bool WaitGraph::is_met(std::int32_t node, const WaitClause& clause) const {
  const auto is_free = [&](std::int32_t target) { return !stuck_[at(target)]; };
  if (clause.reason != WaitReason::kRoom) {
    return std::ranges::any_of(clause.targets, is_free);
  }
  SmPool pool = execution_.pool(rank_of(node));
  for (const std::int32_t target : clause.targets) {
    const DeviceOp& holder = execution_.op(op_of(target));
    for (const CtaBatch& batch : holder.batches) {
      if (is_free(target) && batch.is_running) {
        pool.remove(execution_.kernel_of(holder)->demand, batch.placements);
      }
    }
  }
  return execution_.fits(op_of(node), pool);
}

void WaitGraph::reduce() {
  stuck_.assign(clauses_.size(), true);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::int32_t node = 0; at(node) < clauses_.size(); ++node) {
      const bool goes_on = stuck_[at(node)] &&
                           std::ranges::all_of(clauses_[at(node)], [&](const WaitClause& clause) {
                             return is_met(node, clause);
                           });
      if (goes_on) {
        stuck_[at(node)] = false;
        changed = true;
      }
    }
  }
}

bool WaitGraph::has_stuck() const {
  return std::ranges::find(stuck_, true) != stuck_.end();
}

bool WaitGraph::is_told(std::int32_t node, const WaitClause& clause) const {
  if (is_met(node, clause)) {
    return false;
  }
  // What cannot even start does not wait for its peers yet.
  const bool is_queued =
      !is_thread(node) && execution_.op(op_of(node)).state == DeviceState::kQueued;
  return clause.reason != WaitReason::kPeer || !is_queued ||
         std::ranges::all_of(clauses_[at(node)], [&](const WaitClause& other) {
           return other.reason == WaitReason::kPeer || is_met(node, other);
         });
}

std::vector<std::int32_t> WaitGraph::next_of(std::int32_t node) const {
  std::vector<std::int32_t> next;
  for (const WaitClause& clause : clauses_[at(node)]) {
    if (is_told(node, clause)) {
      std::ranges::copy_if(clause.targets, std::back_inserter(next),
                           [&](std::int32_t target) { return stuck_[at(target)]; });
    }
  }
  return next;
}

const WaitClause* WaitGraph::clause_to(std::int32_t node, std::int32_t target) const {
  for (const WaitClause& clause : clauses_[at(node)]) {
    if (std::ranges::find(clause.targets, target) != clause.targets.end() &&
        is_told(node, clause)) {
      return &clause;
    }
  }
  return nullptr;
}

const WaitClause* WaitGraph::vain_clause(std::int32_t node) const {
  const std::vector<WaitClause>& clauses = clauses_[at(node)];
  const auto found = std::ranges::find_if(
      clauses, [](const WaitClause& clause) { return clause.targets.empty(); });
  return found == clauses.end() ? nullptr : &*found;
}

}  // namespace eplb::sim
