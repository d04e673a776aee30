#include "execution.hpp"

#include <algorithm>
#include <utility>

#include "eplb/core/assert.hpp"

namespace eplb::sim {
namespace {

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

}  // namespace

Execution::Execution(const CompiledProgram& program)
    : program_(&program),
      threads_(program.threads.size()),
      queues_(at(program.ranks) * at(program.max_connections)),
      stream_ends_(program.streams.size(), kNone),
      records_(program.events.size(), kNone),
      pools_(at(program.ranks), SmPool(program.processor)),
      mutex_holders_(program.mutexes.size(), kNone),
      flags_(program.flags.size(), 0),
      messages_(program.channels.size(), 0),
      arrivals_(program.barriers.size(), std::vector<std::int64_t>(at(program.ranks), 0)),
      group_ops_(program.groups.size(), std::vector<std::vector<std::int32_t>>(at(program.ranks))) {
  for (std::size_t thread = 0; thread < threads_.size(); ++thread) {
    threads_[thread].next = -1;
    advance(static_cast<std::int32_t>(thread));
  }
}

const Instruction& Execution::instruction_of(const DeviceOp& op) const {
  return program_->threads[at(op.thread)].code[at(op.instruction)];
}

const Kernel* Execution::kernel_of(const DeviceOp& op) const {
  const Instruction& instruction = instruction_of(op);
  return instruction.code == Code::kLaunch ? &program_->kernels[at(instruction.object)] : nullptr;
}

std::int32_t Execution::queue_of(const DeviceOp& op) const {
  return program_->streams[at(instruction_of(op).stream)].queue;
}

const Instruction& Execution::next_of(std::int32_t thread) const {
  return program_->threads[at(thread)].code[at(threads_[at(thread)].next)];
}

bool Execution::has_ended(std::int32_t thread) const {
  return at(threads_[at(thread)].next) >= program_->threads[at(thread)].code.size();
}

void Execution::advance(std::int32_t thread) {
  ThreadState& state = threads_[at(thread)];
  const std::vector<Instruction>& code = program_->threads[at(thread)].code;
  state.has_arrived = false;
  state.awaited.clear();
  ++state.next;
  // Repeats take no time: the thread stands at what it does next, or at its end.
  while (at(state.next) < code.size()) {
    const Instruction& instruction = code[at(state.next)];
    if (instruction.code == Code::kRepeatEnd) {
      ++state.rounds.back();
      const Instruction& repeat = code[at(instruction.jump)];
      if (repeat.times == kForever || state.rounds.back() < repeat.times) {
        state.next = instruction.jump + 1;
      } else {
        state.rounds.pop_back();
        ++state.next;
      }
    } else if (instruction.code == Code::kRepeat) {
      if (instruction.times == 0) {
        state.next = instruction.jump;
      } else {
        state.rounds.push_back(0);
        ++state.next;
      }
    } else {
      return;
    }
  }
}

void Execution::reach(std::int32_t thread) {
  ThreadState& state = threads_[at(thread)];
  if (state.has_arrived || has_ended(thread)) {
    return;
  }
  state.has_arrived = true;
  const Instruction& next = next_of(thread);
  const std::int32_t rank = program_->threads[at(thread)].rank;
  if (next.code == Code::kBarrier) {
    state.arrival = ++arrivals_[at(next.object)][at(rank)];
  } else if (next.code == Code::kSyncStream) {
    state.awaited = {stream_ends_[at(next.stream)]};
  } else if (next.code == Code::kSyncEvent) {
    state.awaited = {records_[at(next.object)]};
  } else if (next.code == Code::kSyncDevice) {
    for (const std::int32_t op : live_) {
      if (ops_[at(op)].rank == rank) {
        state.awaited.push_back(op);
      }
    }
  }
}

bool Execution::can_continue(std::int32_t thread) const {
  if (has_ended(thread)) {
    return false;
  }
  const ThreadState& state = threads_[at(thread)];
  const Instruction& next = next_of(thread);
  switch (next.code) {
    case Code::kSyncStream:
    case Code::kSyncEvent:
    case Code::kSyncDevice:
      return std::ranges::all_of(state.awaited, [&](std::int32_t op) { return is_done(op); });
    case Code::kLock:
      return mutex_holders_[at(next.object)] == kNone;
    case Code::kAwait:
      return flags_[at(next.object)] > 0;
    case Code::kRecv:
      return messages_[at(next.object)] > 0;
    case Code::kBarrier:
      return std::ranges::all_of(program_->barriers[at(next.object)].ranks, [&](std::int32_t rank) {
        return arrivals_[at(next.object)][at(rank)] >= state.arrival;
      });
    default:
      return true;
  }
}

bool Execution::is_ready(std::int32_t op) const {
  const DeviceOp& one = ops_[at(op)];
  return one.state == DeviceState::kQueued && queues_[at(queue_of(one))].front() == op &&
         is_done(one.stream_before) && is_done(one.awaited);
}

bool Execution::fits(std::int32_t op, const SmPool& pool) const {
  const DeviceOp& one = ops_[at(op)];
  const Kernel& kernel = *kernel_of(one);
  return pool.room(kernel.demand) >= (is_gang(kernel.kind) ? one.unplaced : 1);
}

std::int32_t Execution::barring_gang(std::int32_t op) const {
  if (!program_->waiting_gang_blocks_later_kernels) {
    return kNone;
  }
  const auto found = std::ranges::find_if(live_, [&](std::int32_t other) {
    const DeviceOp& gang = ops_[at(other)];
    const Kernel* kernel = kernel_of(gang);
    return other < op && gang.rank == ops_[at(op)].rank && kernel != nullptr &&
           is_gang(kernel->kind) && is_ready(other);
  });
  return found == live_.end() ? kNone : *found;
}

std::int32_t Execution::exclusive_holder(std::int32_t op) const {
  const std::int32_t wanted = kernel_of(ops_[at(op)])->exclusive;
  if (wanted == kNone) {
    return kNone;
  }
  const auto found = std::ranges::find_if(live_, [&](std::int32_t other) {
    const Kernel* kernel = kernel_of(ops_[at(other)]);
    return other != op && kernel != nullptr && kernel->exclusive == wanted &&
           !ops_[at(other)].batches.empty();
  });
  return found == live_.end() ? kNone : *found;
}

bool Execution::can_start(std::int32_t op) const {
  if (!is_ready(op)) {
    return false;
  }
  if (kernel_of(ops_[at(op)]) == nullptr) {
    return true;
  }
  return fits(op, pools_[at(ops_[at(op)].rank)]) && barring_gang(op) == kNone &&
         exclusive_holder(op) == kNone;
}

std::int32_t Execution::peer(const DeviceOp& op, std::int32_t rank) const {
  const Kernel* kernel = kernel_of(op);
  if (kernel == nullptr || kernel->group == kNone) {
    return kNone;
  }
  const std::vector<std::int32_t>& launches = group_ops_[at(kernel->group)][at(rank)];
  return at(op.meeting) < launches.size() ? launches[at(op.meeting)] : kNone;
}

std::int64_t Execution::arrivals(std::int32_t barrier, std::int32_t rank) const {
  return arrivals_[at(barrier)][at(rank)];
}

bool Execution::all_peers_resident(const DeviceOp& op) const {
  const Kernel& kernel = *kernel_of(op);
  return std::ranges::all_of(program_->groups[at(kernel.group)].ranks, [&](std::int32_t rank) {
    const std::int32_t other = peer(op, rank);
    return other != kNone && ops_[at(other)].state != DeviceState::kQueued;
  });
}

bool Execution::can_end(std::int32_t op, std::int32_t batch) const {
  const DeviceOp& one = ops_[at(op)];
  const Kernel* kernel = kernel_of(one);
  if (kernel == nullptr) {
    return one.state == DeviceState::kRunning;
  }
  if (kernel->kind == KernelKind::kPlain) {
    return one.batches[at(batch)].is_running;
  }
  // Other kinds end as a whole, which counts as their first batch.
  return batch == 0 && one.state == DeviceState::kRunning &&
         (!meets_peers(kernel->kind) || all_peers_resident(one));
}

void Execution::take(const Step& step) {
  switch (step.kind) {
    case Step::Kind::kReach:
      reach(step.index);
      break;
    case Step::Kind::kHost:
      take_host(step.index);
      break;
    case Step::Kind::kStart:
      start(step.index);
      break;
    case Step::Kind::kEnd:
      end(step.index, step.batch);
      break;
  }
}

void Execution::take_host(std::int32_t thread) {
  const Instruction& next = next_of(thread);
  if (is_device_code(next.code)) {
    issue(thread, next);
  } else if (next.code == Code::kLock) {
    mutex_holders_[at(next.object)] = thread;
  } else if (next.code == Code::kUnlock) {
    mutex_holders_[at(next.object)] = kNone;
  } else if (next.code == Code::kSet) {
    ++flags_[at(next.object)];
  } else if (next.code == Code::kAwait) {
    --flags_[at(next.object)];
  } else if (next.code == Code::kSend) {
    messages_[at(next.object)] += next.is_lost ? 0 : 1;
  } else if (next.code == Code::kRecv) {
    --messages_[at(next.object)];
  }
  advance(thread);
}

void Execution::issue(std::int32_t thread, const Instruction& instruction) {
  ThreadState& state = threads_[at(thread)];
  const auto index = static_cast<std::int32_t>(ops_.size());
  DeviceOp op{.thread = thread,
              .ordinal = state.issued++,
              .instruction = state.next,
              .rank = program_->threads[at(thread)].rank,
              .stream_before = stream_ends_[at(instruction.stream)]};
  if (instruction.code == Code::kWait) {
    op.awaited = records_[at(instruction.object)];
  } else if (instruction.code == Code::kRecord) {
    records_[at(instruction.object)] = index;
  } else if (instruction.code == Code::kLaunch) {
    const Kernel& kernel = program_->kernels[at(instruction.object)];
    op.unplaced = kernel.ctas;
    if (kernel.group != kNone) {
      std::vector<std::int32_t>& launches = group_ops_[at(kernel.group)][at(op.rank)];
      op.meeting = static_cast<std::int64_t>(launches.size());
      launches.push_back(index);
    }
  }
  stream_ends_[at(instruction.stream)] = index;
  queues_[at(program_->streams[at(instruction.stream)].queue)].push_back(index);
  live_.push_back(index);
  ops_.push_back(std::move(op));
}

void Execution::start(std::int32_t op) {
  DeviceOp& one = ops_[at(op)];
  if (const Kernel* kernel = kernel_of(one); kernel != nullptr) {
    CtaBatch batch{.placements = pools_[at(one.rank)].place(kernel->demand, one.unplaced)};
    for (const CtaPlacement& placement : batch.placements) {
      one.unplaced -= placement.ctas;
    }
    one.batches.push_back(std::move(batch));
  }
  if (one.unplaced > 0) {
    return;
  }
  one.state = DeviceState::kRunning;
  std::vector<std::int32_t>& queue = queues_[at(queue_of(one))];
  queue.erase(queue.begin());
  const Code code = instruction_of(one).code;
  if (code == Code::kRecord || code == Code::kWait) {
    finish(op);
  }
}

void Execution::end(std::int32_t op, std::int32_t batch) {
  DeviceOp& one = ops_[at(op)];
  const Kernel* kernel = kernel_of(one);
  if (kernel == nullptr) {
    finish(op);
    return;
  }
  const bool is_plain = kernel->kind == KernelKind::kPlain;
  for (std::size_t index = 0; index < one.batches.size(); ++index) {
    CtaBatch& ended = one.batches[index];
    if ((!is_plain || index == at(batch)) && ended.is_running) {
      ended.is_running = false;
      pools_[at(one.rank)].remove(kernel->demand, ended.placements);
    }
  }
  if (one.unplaced == 0 && std::ranges::none_of(one.batches, &CtaBatch::is_running)) {
    finish(op);
  }
}

void Execution::finish(std::int32_t op) {
  ops_[at(op)].state = DeviceState::kDone;
  std::erase(live_, op);
}

std::vector<Step> Execution::steps() {
  std::vector<Step> steps;
  const auto count = static_cast<std::int32_t>(threads_.size());
  const auto is_unreached_sync = [&](std::int32_t thread) {
    return !has_ended(thread) && !threads_[at(thread)].has_arrived && is_sync(next_of(thread).code);
  };
  for (std::int32_t thread = 0; thread < count; ++thread) {
    if (is_unreached_sync(thread)) {
      steps.push_back({.kind = Step::Kind::kReach, .index = thread});
    } else {
      reach(thread);
    }
  }
  for (std::int32_t thread = 0; thread < count; ++thread) {
    if (!is_unreached_sync(thread) && can_continue(thread)) {
      steps.push_back({.kind = Step::Kind::kHost, .index = thread});
    }
  }
  for (const std::int32_t op : live_) {
    if (can_start(op)) {
      steps.push_back({.kind = Step::Kind::kStart, .index = op});
    }
    const auto batches = std::max<std::size_t>(1, ops_[at(op)].batches.size());
    for (std::size_t batch = 0; batch < batches; ++batch) {
      const bool has_batch = kernel_of(ops_[at(op)]) == nullptr || !ops_[at(op)].batches.empty();
      if (has_batch && can_end(op, static_cast<std::int32_t>(batch))) {
        steps.push_back(
            {.kind = Step::Kind::kEnd, .index = op, .batch = static_cast<std::int32_t>(batch)});
      }
    }
  }
  return steps;
}

bool Execution::is_finished() const {
  for (std::int32_t thread = 0; at(thread) < threads_.size(); ++thread) {
    if (!has_ended(thread)) {
      return false;
    }
  }
  return live_.empty();
}

void Execution::add_op_name(std::int32_t op, Digest& digest) const {
  digest.add(is_done(op) ? -1 : ops_[at(op)].thread);
  digest.add(is_done(op) ? -1 : ops_[at(op)].ordinal);
}

void Execution::add_live_ops(Digest& digest) const {
  std::vector<std::int32_t> ordered = live_;
  // With gangs that block, who was issued first counts; otherwise it is no part of the state.
  if (!program_->waiting_gang_blocks_later_kernels) {
    std::ranges::sort(ordered, {}, [&](std::int32_t op) {
      return std::pair(ops_[at(op)].thread, ops_[at(op)].ordinal);
    });
  }
  for (const std::int32_t op : ordered) {
    const DeviceOp& one = ops_[at(op)];
    add_op_name(op, digest);
    add_op_name(one.stream_before, digest);
    add_op_name(one.awaited, digest);
    digest.add(one.meeting);
    digest.add(one.unplaced);
    digest.add(static_cast<std::int64_t>(one.state));
    for (const CtaBatch& batch : one.batches) {
      digest.add(batch.is_running ? 1 : 0);
      for (const CtaPlacement& placement : batch.placements) {
        digest.add(std::vector<std::int64_t>{placement.sm, placement.ctas});
      }
    }
  }
}

void Execution::add_to(Digest& digest) const {
  const auto add_op = [&](std::int32_t op) { add_op_name(op, digest); };
  for (const ThreadState& thread : threads_) {
    digest.add(thread.next);
    digest.add(thread.has_arrived ? 1 : 0);
    digest.add(thread.arrival);
    digest.add(thread.rounds);
    std::ranges::for_each(thread.awaited, add_op);
  }
  add_live_ops(digest);
  for (const auto& queue : queues_) {
    digest.add(static_cast<std::int64_t>(queue.size()));
    std::ranges::for_each(queue, add_op);
  }
  std::ranges::for_each(stream_ends_, add_op);
  std::ranges::for_each(records_, add_op);
  for (const std::int32_t holder : mutex_holders_) {
    digest.add(holder);
  }
  digest.add(flags_);
  digest.add(messages_);
  for (const auto& launches : group_ops_) {
    for (const auto& of_rank : launches) {
      digest.add(static_cast<std::int64_t>(of_rank.size()));
      for (const std::int32_t op : of_rank) {
        digest.add(ops_[at(op)].state == DeviceState::kQueued ? 1 : 0);
      }
    }
  }
}

}  // namespace eplb::sim
