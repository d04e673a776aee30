#include "may_graph.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

namespace eplb::sim {
namespace {

/// Beyond so many host operations repeats are cut short: their later rounds repeat the pattern.
constexpr std::int64_t kHostItemsMax = 300;
constexpr std::int64_t kRoundsOfForever = 2;
constexpr std::int32_t kRoles = 5;

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

std::int64_t host_item_count(const std::vector<Instruction>& code) {
  std::int64_t factor = 1;
  std::int64_t count = 0;
  std::vector<std::int64_t> factors;
  for (const Instruction& instruction : code) {
    if (instruction.code == Code::kRepeat) {
      factors.push_back(factor);
      const std::int64_t rounds =
          instruction.times == kForever ? kRoundsOfForever : instruction.times;
      factor = std::min(factor * rounds, kHostItemsMax + 1);
    } else if (instruction.code == Code::kRepeatEnd) {
      factor = factors.back();
      factors.pop_back();
    } else {
      count = std::min(count + factor, kHostItemsMax + 1);
    }
  }
  return count;
}

}  // namespace

MayGraph::MayGraph(const CompiledProgram& program) : program_(program) {
  unroll();
  edges_.resize(2 * hosts_.size() + kRoles * devices_.size());
  add_in_order();
  add_records();
  add_syncs();
  add_paired(Code::kSet, Code::kAwait, WaitReason::kFlag);
  add_paired(Code::kSend, Code::kRecv, WaitReason::kMessage);
  add_barriers();
  add_groups();
  close();
  add_free_orders();
}

std::int32_t MayGraph::node(std::int32_t device, Role role) const {
  return static_cast<std::int32_t>(hosts_.size()) + kRoles * device +
         static_cast<std::int32_t>(role);
}

std::int32_t MayGraph::mutex_node(std::int32_t host) const {
  return static_cast<std::int32_t>(hosts_.size() + kRoles * devices_.size()) + host;
}

const Instruction& MayGraph::instruction_of(std::int32_t host) const {
  const HostItem& item = hosts_[at(host)];
  return program_.threads[at(item.thread)].code[at(item.instruction)];
}

const Instruction& MayGraph::instruction_of(const DeviceItem& item) const {
  return program_.threads[at(item.thread)].code[at(item.instruction)];
}

const Kernel* MayGraph::kernel_of(std::int32_t device) const {
  const Instruction& instruction = instruction_of(devices_[at(device)]);
  return instruction.code == Code::kLaunch ? &program_.kernels[at(instruction.object)] : nullptr;
}

std::int32_t MayGraph::queue_of(std::int32_t device) const {
  return program_.streams[at(instruction_of(devices_[at(device)]).stream)].queue;
}

void MayGraph::unroll() {
  std::int64_t count = 0;
  for (const CompiledThread& thread : program_.threads) {
    count += host_item_count(thread.code);
  }
  is_cut_ = program_.repeats_forever || count > kHostItemsMax;
  const std::int64_t rounds_max = count > kHostItemsMax ? kRoundsOfForever : kHostItemsMax;
  for (std::int32_t thread = 0; at(thread) < program_.threads.size(); ++thread) {
    unroll_thread(thread, rounds_max);
  }
}

void MayGraph::unroll_thread(std::int32_t thread, std::int64_t rounds_max) {
  const CompiledThread& compiled = program_.threads[at(thread)];
  std::vector<std::int64_t> rounds;
  Ends ends;
  std::int32_t before = kNone;
  for (std::int32_t next = 0; at(next) < compiled.code.size();) {
    const Instruction& instruction = compiled.code[at(next)];
    if (instruction.code == Code::kRepeat) {
      const std::int64_t times =
          instruction.times == kForever ? kRoundsOfForever : instruction.times;
      next = times == 0 ? instruction.jump : next + 1;
      if (times > 0) {
        rounds.push_back(std::min(times, rounds_max));
      }
      continue;
    }
    if (instruction.code == Code::kRepeatEnd) {
      next = --rounds.back() > 0 ? instruction.jump + 1 : next + 1;
      if (rounds.back() == 0) {
        rounds.pop_back();
      }
      continue;
    }
    const auto host = static_cast<std::int32_t>(hosts_.size());
    hosts_.push_back({.thread = thread, .instruction = next, .before = before});
    before = host;
    if (is_device_code(instruction.code)) {
      add_device(host, ends);
    }
    ++next;
  }
}

void MayGraph::add_device(std::int32_t host, Ends& ends) {
  const HostItem& issuer = hosts_[at(host)];
  const std::int32_t stream = instruction_of(host).stream;
  const std::int32_t queue = program_.streams[at(stream)].queue;
  const auto device = static_cast<std::int32_t>(devices_.size());
  const auto stream_end = ends.of_streams.emplace(stream, kNone).first;
  const auto queue_end = ends.of_queues.emplace(queue, kNone).first;
  devices_.push_back({.host = host,
                      .thread = issuer.thread,
                      .rank = program_.threads[at(issuer.thread)].rank,
                      .instruction = issuer.instruction,
                      .stream_before = stream_end->second,
                      .queue_before = queue_end->second});
  stream_end->second = device;
  queue_end->second = device;
}

void MayGraph::must(std::int32_t from, std::int32_t to, WaitReason reason) {
  edges_[at(from)].push_back({.to = to, .reason = reason, .is_free = false});
}

void MayGraph::may(std::int32_t from, std::int32_t to, WaitReason reason) {
  edges_[at(from)].push_back({.to = to, .reason = reason, .is_free = true});
}

void MayGraph::add_in_order() {
  for (std::int32_t host = 0; at(host) < hosts_.size(); ++host) {
    if (hosts_[at(host)].before != kNone) {
      must(host, hosts_[at(host)].before, WaitReason::kSync);
    }
  }
  for (std::int32_t device = 0; at(device) < devices_.size(); ++device) {
    const DeviceItem& item = devices_[at(device)];
    must(node(device, Role::kEnd), node(device, Role::kStart), WaitReason::kStream);
    must(node(device, Role::kStart), item.host, WaitReason::kSync);
    for (const Role role : {Role::kStart, Role::kAhead}) {
      if (item.stream_before != kNone) {
        must(node(device, role), node(item.stream_before, Role::kEnd), WaitReason::kStream);
      }
      if (item.queue_before != kNone && item.queue_before != item.stream_before) {
        must(node(device, role), node(item.queue_before, Role::kStart), WaitReason::kQueue);
      }
    }
  }
}

void MayGraph::add_record_edges(std::int32_t waiter, std::int32_t event, std::int32_t waiter_host,
                                WaitReason reason) {
  const std::int32_t own_thread = hosts_[at(waiter_host)].thread;
  std::int32_t own = kNone;
  std::vector<std::int32_t> others;
  for (std::int32_t device = 0; at(device) < devices_.size(); ++device) {
    const DeviceItem& item = devices_[at(device)];
    const Instruction& instruction = instruction_of(item);
    if (instruction.code != Code::kRecord || instruction.object != event) {
      continue;
    }
    if (item.thread != own_thread) {
      others.push_back(device);
    } else if (item.host < waiter_host) {
      own = device;
    }
  }
  // Whether another thread's record came first is free, and with it which record is meant.
  if (own != kNone && others.empty()) {
    must(waiter, node(own, Role::kEnd), reason);
  } else if (own != kNone) {
    may(waiter, node(own, Role::kEnd), reason);
  }
  for (const std::int32_t device : others) {
    may(waiter, node(device, Role::kEnd), reason);
  }
}

void MayGraph::add_records() {
  for (std::int32_t device = 0; at(device) < devices_.size(); ++device) {
    const DeviceItem& item = devices_[at(device)];
    if (instruction_of(item).code == Code::kWait) {
      for (const Role role : {Role::kStart, Role::kAhead}) {
        add_record_edges(node(device, role), instruction_of(item).object, item.host,
                         WaitReason::kEvent);
      }
    }
  }
}

void MayGraph::add_syncs() {
  for (std::int32_t host = 0; at(host) < hosts_.size(); ++host) {
    const Instruction& instruction = instruction_of(host);
    const std::int32_t thread = hosts_[at(host)].thread;
    if (instruction.code == Code::kSyncEvent) {
      add_record_edges(host, instruction.object, host, WaitReason::kSync);
    }
    if (instruction.code != Code::kSyncStream && instruction.code != Code::kSyncDevice) {
      continue;
    }
    for (std::int32_t device = 0; at(device) < devices_.size(); ++device) {
      const DeviceItem& item = devices_[at(device)];
      const bool is_meant = instruction.code == Code::kSyncDevice
                                ? item.rank == program_.threads[at(thread)].rank
                                : instruction_of(item).stream == instruction.stream;
      if (is_meant && item.thread == thread && item.host < host) {
        must(host, node(device, Role::kEnd), WaitReason::kSync);
      } else if (is_meant && item.thread != thread) {
        may(host, node(device, Role::kEnd), WaitReason::kSync);
      }
    }
  }
}

void MayGraph::add_paired(Code giving, Code taking, WaitReason reason) {
  std::map<std::int32_t, std::vector<std::int32_t>> givers;
  std::map<std::int32_t, std::vector<std::int32_t>> takers;
  for (std::int32_t host = 0; at(host) < hosts_.size(); ++host) {
    const Instruction& instruction = instruction_of(host);
    if (instruction.code == giving && !instruction.is_lost) {
      givers[instruction.object].push_back(host);
    } else if (instruction.code == taking) {
      takers[instruction.object].push_back(host);
    }
  }
  const auto in_one_thread = [&](const std::vector<std::int32_t>& items) {
    return std::ranges::all_of(items, [&](std::int32_t host) {
      return hosts_[at(host)].thread == hosts_[at(items.front())].thread;
    });
  };
  for (const auto& [object, takings] : takers) {
    const std::vector<std::int32_t>& givings = givers[object];
    const bool is_paired = in_one_thread(takings) && in_one_thread(givings);
    for (std::size_t index = 0; index < takings.size(); ++index) {
      if (index >= givings.size()) {
        if (!is_cut_) {
          found_.push_back({.kind = "never",
                            .explanation = {{.rank = rank_of(takings[index]),
                                             .operation = text_of(takings[index]),
                                             .holds = "",
                                             .waits_for = "what nobody gives as often as it is "
                                                          "taken, or what gets lost"}},
                            .advice = advice_for({reason})});
        }
      } else if (is_paired) {
        must(takings[index], givings[index], reason);
      } else {
        for (const std::int32_t giving_host : givings) {
          may(takings[index], giving_host, reason);
        }
      }
    }
  }
}

void MayGraph::add_barriers() {
  for (std::int32_t barrier = 0; at(barrier) < program_.barriers.size(); ++barrier) {
    Arrivals arrivals(at(program_.ranks));
    for (std::int32_t host = 0; at(host) < hosts_.size(); ++host) {
      const Instruction& instruction = instruction_of(host);
      if (instruction.code == Code::kBarrier && instruction.object == barrier) {
        // A thread is there when it is done with what stands before the barrier.
        arrivals[at(rank_of(host))].push_back({.thread = hosts_[at(host)].thread,
                                               .waiting = {host},
                                               .awaited = hosts_[at(host)].before});
      }
    }
    add_meeting(program_.barriers[at(barrier)].ranks, arrivals, WaitReason::kBarrier);
  }
}

void MayGraph::add_groups() {
  for (std::int32_t group = 0; at(group) < program_.groups.size(); ++group) {
    Arrivals arrivals(at(program_.ranks));
    for (std::int32_t device = 0; at(device) < devices_.size(); ++device) {
      const Kernel* kernel = kernel_of(device);
      if (kernel != nullptr && kernel->group == group) {
        arrivals[at(devices_[at(device)].rank)].push_back(
            {.thread = devices_[at(device)].thread,
             .waiting = {node(device, Role::kEnd), node(device, Role::kHold)},
             .awaited = node(device, Role::kStart)});
      }
    }
    add_meeting(program_.groups[at(group)].ranks, arrivals, WaitReason::kPeer);
  }
}

void MayGraph::add_meeting(const std::vector<std::int32_t>& ranks, const Arrivals& arrivals,
                           WaitReason reason) {
  for (const std::int32_t rank : ranks) {
    for (const std::int32_t other : ranks) {
      if (other != rank) {
        add_peers(rank, arrivals[at(rank)], arrivals[at(other)], reason);
      }
    }
  }
}

void MayGraph::add_peers(std::int32_t rank, const std::vector<Arrival>& own,
                         const std::vector<Arrival>& theirs, WaitReason reason) {
  const auto in_one_thread = [](const std::vector<Arrival>& items) {
    return std::ranges::all_of(
        items, [&](const Arrival& item) { return item.thread == items.front().thread; });
  };
  // Where several threads of a rank come, it is free which of them is the n-th.
  const bool is_paired = in_one_thread(own) && in_one_thread(theirs);
  for (std::size_t index = 0; index < own.size(); ++index) {
    if (index >= theirs.size() && !is_cut_) {
      found_.push_back({.kind = "never",
                        .explanation = {{.rank = rank,
                                         .operation = text_of(own[index].waiting.front()),
                                         .holds = "",
                                         .waits_for = "a rank that comes less often"}},
                        .advice = advice_for({reason})});
    }
    for (std::size_t peer = 0; peer < theirs.size(); ++peer) {
      if (theirs[peer].awaited == kNone || (is_paired && peer != index)) {
        continue;
      }
      for (const std::int32_t waiting : own[index].waiting) {
        edges_[at(waiting)].push_back(
            {.to = theirs[peer].awaited, .reason = reason, .is_free = !is_paired});
      }
    }
  }
}

void MayGraph::close() {
  closure_.assign(edges_.size(), std::vector<bool>(edges_.size(), false));
  for (std::size_t from = 0; from < edges_.size(); ++from) {
    std::vector<std::size_t> open = {from};
    while (!open.empty()) {
      const std::size_t one = open.back();
      open.pop_back();
      for (const Edge& edge : edges_[one]) {
        if (!edge.is_free && !closure_[from][at(edge.to)]) {
          closure_[from][at(edge.to)] = true;
          open.push_back(at(edge.to));
        }
      }
    }
  }
}

bool MayGraph::needs(std::int32_t from, std::int32_t to) const {
  return closure_[at(from)][at(to)];
}

}  // namespace eplb::sim
