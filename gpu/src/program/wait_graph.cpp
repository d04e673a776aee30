#include "wait_graph.hpp"

#include <algorithm>

namespace eplb::gpu::program {
namespace {

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

}  // namespace

WaitGraph::WaitGraph(const Observation& observation) : observation_(observation) {
  const auto thread_count = static_cast<std::int32_t>(observation.board.threads.size());
  const auto launch_count = static_cast<std::int32_t>(observation.board.launches.size());
  clauses_.resize(at(thread_count) + at(launch_count));
  for (std::int32_t thread = 0; thread < thread_count; ++thread) {
    if (observation.board.threads[at(thread)].is_waiting) {
      add_thread(thread);
    }
  }
  for (std::int32_t launch = 0; launch < launch_count; ++launch) {
    if (is_unfinished(launch)) {
      add_launch(launch);
    }
  }
  reduce();
}

bool WaitGraph::is_thread(std::int32_t node) const {
  return at(node) < observation_.board.threads.size();
}

std::int32_t WaitGraph::node_of(std::int32_t launch) const {
  return launch + static_cast<std::int32_t>(observation_.board.threads.size());
}

std::int32_t WaitGraph::launch_of(std::int32_t node) const {
  return node - static_cast<std::int32_t>(observation_.board.threads.size());
}

std::int32_t WaitGraph::rank_of(std::int32_t node) const {
  return is_thread(node) ? observation_.script.threads[at(node)].rank : op_of(launch_of(node)).rank;
}

const LaunchRecord& WaitGraph::record_of(std::int32_t launch) const {
  return observation_.records[at(launch)];
}

const IssuedOp& WaitGraph::op_of(std::int32_t launch) const {
  return observation_.board.ops[at(observation_.board.launches[at(launch)])];
}

const Instruction& WaitGraph::instruction_of(const IssuedOp& op) const {
  return observation_.script.threads[at(op.thread)].code[at(op.instruction)];
}

const Instruction& WaitGraph::next_of(std::int32_t thread) const {
  return observation_.script.threads[at(thread)]
      .code[at(observation_.board.threads[at(thread)].next)];
}

bool WaitGraph::is_unfinished(std::int32_t launch) const {
  const LaunchRecord& record = record_of(launch);
  return record.ended_ns == 0 || record.ran_out_ns != 0 || record.kept_out != 0;
}

std::vector<std::int32_t> WaitGraph::blockers(std::int32_t op) const {
  std::vector<std::int32_t> launches;
  std::vector<std::int32_t> open{op};
  while (!open.empty()) {
    const std::int32_t index = open.back();
    open.pop_back();
    if (index == kNone) {
      continue;
    }
    const IssuedOp& one = observation_.board.ops[at(index)];
    if (one.launch == kNone) {
      open.push_back(one.stream_before);
      open.push_back(one.awaited);
    } else if (is_unfinished(one.launch)) {
      launches.push_back(one.launch);  // What stands before it in its stream is its own matter.
    }
  }
  return launches;
}

std::vector<std::int32_t> WaitGraph::threads_that_will(std::int32_t rank, Code code,
                                                       std::int32_t object) const {
  std::vector<std::int32_t> threads;
  for (std::int32_t thread = 0; is_thread(thread); ++thread) {
    const ScriptThread& script = observation_.script.threads[at(thread)];
    // What stands in a repeat underway comes again.
    std::int32_t next = observation_.board.threads[at(thread)].next;
    for (std::int32_t index = 0; index < next; ++index) {
      const Instruction& repeat = script.code[at(index)];
      if (repeat.code == Code::kRepeat && repeat.jump > next) {
        next = index;
      }
    }
    const bool will = std::any_of(
        script.code.begin() + next, script.code.end(), [&](const Instruction& instruction) {
          const bool is_meant =
              code == Code::kLaunch && instruction.code == code
                  ? observation_.script.kernels[at(instruction.object)].group == object
                  : instruction.object == object;
          return instruction.code == code && is_meant && !instruction.is_lost;
        });
    if (script.rank == rank && will) {
      threads.push_back(thread);
    }
  }
  return threads;
}

void WaitGraph::add_sync(std::int32_t thread) {
  const Instruction& next = next_of(thread);
  const std::vector<IssuedOp>& ops = observation_.board.ops;
  const std::int32_t rank = observation_.script.threads[at(thread)].rank;
  // The last operation that counts of each stream, or of the event.
  std::vector<std::int32_t> last(observation_.script.streams.size(), kNone);
  for (std::size_t op = 0; op < ops.size(); ++op) {
    const Instruction& issued = instruction_of(ops[op]);
    const bool counts = next.code == Code::kSyncDevice
                            ? ops[op].rank == rank
                            : (next.code == Code::kSyncStream
                                   ? issued.stream == next.stream
                                   : issued.code == Code::kRecord && issued.object == next.object);
    const std::int32_t place = next.code == Code::kSyncEvent ? 0 : issued.stream;
    if (counts) {
      last[at(place)] = static_cast<std::int32_t>(op);
    }
  }
  for (const std::int32_t op : last) {
    for (const std::int32_t launch : blockers(op)) {
      clauses_[at(thread)].push_back({.reason = Reason::kSync, .targets = {node_of(launch)}});
    }
  }
}

void WaitGraph::add_thread(std::int32_t thread) {
  const Instruction& next = next_of(thread);
  const BoardState& board = observation_.board;
  std::vector<Clause>& clauses = clauses_[at(thread)];
  const std::int32_t rank = observation_.script.threads[at(thread)].rank;
  const auto others_that = [&](std::int32_t of_rank, Code code) {
    std::vector<std::int32_t> threads = threads_that_will(of_rank, code, next.object);
    std::erase(threads, thread);
    return threads;
  };
  if (is_sync(next.code)) {
    add_sync(thread);
  } else if (next.code == Code::kLock) {
    const std::int32_t holder = board.mutex_holders[at(next.object)];
    if (holder != kNone) {
      clauses.push_back({.reason = Reason::kMutex, .targets = {holder}});
    }
  } else if (next.code == Code::kAwait) {
    clauses.push_back({.reason = Reason::kFlag, .targets = others_that(rank, Code::kSet)});
  } else if (next.code == Code::kRecv) {
    const std::int32_t from = observation_.script.channels[at(next.object)].from;
    clauses.push_back(
        {.reason = Reason::kMessage, .targets = others_that(from, Code::kSend), .rank = from});
  } else if (next.code == Code::kBarrier) {
    for (const std::int32_t peer : observation_.script.barriers[at(next.object)].ranks) {
      if (board.arrivals[at(next.object)][at(peer)] < board.threads[at(thread)].arrival) {
        clauses.push_back({.reason = Reason::kBarrier,
                           .targets = others_that(peer, Code::kBarrier),
                           .rank = peer});
      }
    }
  }
}

void WaitGraph::add_launch(std::int32_t launch) {
  const LaunchRecord& record = record_of(launch);
  const IssuedOp& op = op_of(launch);
  std::vector<Clause>& clauses = clauses_[at(node_of(launch))];
  if (record.waited == SpinWait::kPeer) {
    add_peers(launch);
    return;
  }
  if (record.waited == SpinWait::kExclusive) {
    // Nobody held it if the run was over before the kernel could take it.
    if (record.waited_for != kNone) {
      clauses.push_back({.reason = Reason::kExclusive, .targets = {node_of(record.waited_for)}});
    }
    return;
  }
  for (const std::int32_t before :
       record.begun_ns == 0 ? blockers(op.stream_before) : std::vector<std::int32_t>{}) {
    // Through an event if it is of another stream.
    const bool is_same = instruction_of(op_of(before)).stream == instruction_of(op).stream;
    clauses.push_back(
        {.reason = is_same ? Reason::kStream : Reason::kEvent, .targets = {node_of(before)}});
  }
  if (clauses.empty() && observation_.over_ns - op.issued_ns >= observation_.settle_ns) {
    add_room(launch);
  }
}

void WaitGraph::add_room(std::int32_t launch) {
  const auto device_of = [&](std::int32_t one) {
    return observation_.devices[at(op_of(one).rank)];
  };
  Clause room{.reason = Reason::kRoom};
  for (std::int32_t other = 0; at(other) < observation_.records.size(); ++other) {
    if (other != launch && device_of(other) == device_of(launch) &&
        record_of(other).ran_out_ns != 0) {
      room.targets.push_back(node_of(other));
    }
  }
  if (!room.targets.empty()) {
    clauses_[at(node_of(launch))].push_back(std::move(room));
  }
}

void WaitGraph::add_peers(std::int32_t launch) {
  const IssuedOp& op = op_of(launch);
  const std::int32_t group = observation_.script.kernels[at(instruction_of(op).object)].group;
  for (const std::int32_t rank : observation_.script.groups[at(group)].ranks) {
    const auto& launches = observation_.board.launches;
    const auto found = std::find_if(launches.begin(), launches.end(), [&](std::int32_t index) {
      const IssuedOp& other = observation_.board.ops[at(index)];
      return other.rank == rank && other.meeting == op.meeting &&
             observation_.script.kernels[at(instruction_of(other).object)].group == group;
    });
    const auto peer = static_cast<std::int32_t>(found - launches.begin());
    if (found == launches.end()) {
      clauses_[at(node_of(launch))].push_back(
          {.reason = Reason::kPeer,
           .targets = threads_that_will(rank, Code::kLaunch, group),
           .rank = rank});
    } else if (record_of(peer).resident_ns == 0) {
      clauses_[at(node_of(launch))].push_back(
          {.reason = Reason::kPeer, .targets = {node_of(peer)}, .rank = rank});
    }
  }
}

bool WaitGraph::is_met(const Clause& clause) const {
  const auto goes_on = [&](std::int32_t target) { return !stuck_[at(target)]; };
  return clause.reason == Reason::kRoom
             ? std::all_of(clause.targets.begin(), clause.targets.end(), goes_on)
             : std::any_of(clause.targets.begin(), clause.targets.end(), goes_on);
}

void WaitGraph::reduce() {
  stuck_.assign(clauses_.size(), true);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t node = 0; node < clauses_.size(); ++node) {
      if (stuck_[node] && std::all_of(clauses_[node].begin(), clauses_[node].end(),
                                      [this](const Clause& clause) { return is_met(clause); })) {
        stuck_[node] = false;
        changed = true;
      }
    }
  }
}

std::string WaitGraph::launch_waits_for(std::int32_t launch) const {
  const std::int32_t node = node_of(launch);
  for (const Clause& clause : clauses_[at(node)]) {
    if (!is_met(clause)) {
      return clause.targets.empty() ? vain_text(node, clause)
                                    : target_text(node, clause, clause.targets.front());
    }
  }
  return "";
}

std::string WaitGraph::launch_name(std::int32_t launch) const {
  return name_of(node_of(launch));
}

}  // namespace eplb::gpu::program
