#include "board.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

namespace eplb::gpu::program {
namespace {

constexpr std::chrono::microseconds kPollInterval{20};

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

}  // namespace

Board::Board(const Script& script, std::int64_t limit_ns, std::int32_t& is_over)
    : script_(script),
      limit_ns_(limit_ns),
      is_over_(is_over),
      start_(std::chrono::steady_clock::now()),
      stream_ends_(script.streams.size(), kNone),
      records_(script.events.size(), kNone),
      meetings_(script.groups.size(), std::vector<std::int64_t>(at(script.ranks), 0)) {
  state_.threads.reserve(script.threads.size());
  for (const ScriptThread& thread : script.threads) {
    state_.threads.push_back({.next = static_cast<std::int32_t>(Cursor(thread.code).next())});
  }
  state_.mutex_holders.assign(script.mutexes.size(), kNone);
  state_.flags.assign(script.flags.size(), 0);
  state_.messages.assign(script.channels.size(), 0);
  state_.arrivals.assign(script.barriers.size(), std::vector<std::int64_t>(at(script.ranks), 0));
}

std::int64_t Board::now_ns() const {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now() - start_).count();
}

bool Board::is_over() const {
  return std::atomic_ref(is_over_).load(std::memory_order_acquire) != 0;
}

void Board::end_run() {
  std::atomic_ref(is_over_).store(1, std::memory_order_release);
}

void Board::reach(std::int32_t thread, std::size_t instruction) {
  const std::lock_guard lock(mutex_);
  ++state_.host_operation_count;
  state_.threads[at(thread)].next = static_cast<std::int32_t>(instruction);
}

bool Board::wait(std::int32_t thread, const std::function<bool()>& is_met) {
  const std::int64_t begin_ns = now_ns();
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      ThreadState& state = state_.threads[at(thread)];
      state.is_waiting = !is_met();
      state.waiting_ns = begin_ns;
      if (!state.is_waiting) {
        return true;
      }
      if (!may_wait_on(begin_ns)) {
        return false;
      }
    }
    std::this_thread::sleep_for(kPollInterval);
  }
}

bool Board::may_wait_on(std::int64_t begin_ns) {
  const std::int64_t now = now_ns();
  if (!is_over() && now - begin_ns <= limit_ns_) {
    return true;
  }
  end_run();
  state_.over_ns = state_.over_ns == kNone ? now : state_.over_ns;
  return false;
}

std::function<bool()> Board::condition_of(std::int32_t thread, const Instruction& instruction) {
  const std::int32_t object = instruction.object;
  const auto take_one = [](std::int64_t& count) {
    const bool has_one = count > 0;
    count -= has_one ? 1 : 0;
    return has_one;
  };
  switch (instruction.code) {
    case Code::kLock:
      return [this, thread, object] {
        std::int32_t& holder = state_.mutex_holders[at(object)];
        const bool is_free = holder == kNone;
        holder = is_free ? thread : holder;
        return is_free;
      };
    case Code::kAwait:
      return [this, object, take_one] { return take_one(state_.flags[at(object)]); };
    case Code::kRecv:
      return [this, object, take_one] { return take_one(state_.messages[at(object)]); };
    case Code::kBarrier:
      return [this, thread, object] {
        const std::vector<std::int64_t>& arrivals = state_.arrivals[at(object)];
        const std::vector<std::int32_t>& ranks = script_.barriers[at(object)].ranks;
        const std::int64_t arrival = state_.threads[at(thread)].arrival;
        return std::all_of(ranks.begin(), ranks.end(),
                           [&](std::int32_t rank) { return arrivals[at(rank)] >= arrival; });
      };
    case Code::kSleep:
      return [this, end_ns = now_ns() + instruction.duration_ns] { return now_ns() >= end_ns; };
    default:
      return [] { return true; };
  }
}

bool Board::pass(std::int32_t thread, const Instruction& instruction) {
  const std::int32_t object = instruction.object;
  {
    const std::lock_guard lock(mutex_);
    if (instruction.code == Code::kUnlock) {
      state_.mutex_holders[at(object)] = kNone;
    } else if (instruction.code == Code::kSet) {
      ++state_.flags[at(object)];
    } else if (instruction.code == Code::kSend) {
      state_.messages[at(object)] += instruction.is_lost ? 0 : 1;
    } else if (instruction.code == Code::kBarrier) {
      const std::int32_t rank = script_.threads[at(thread)].rank;
      state_.threads[at(thread)].arrival = ++state_.arrivals[at(object)][at(rank)];
    }
  }
  return wait(thread, condition_of(thread, instruction));
}

std::size_t Board::launch_count() {
  const std::lock_guard lock(mutex_);
  return state_.launches.size();
}

void Board::issue(std::int32_t thread, const std::function<void(const IssuedOp&)>& enqueue) {
  const std::lock_guard lock(mutex_);
  const ScriptThread& issuer = script_.threads[at(thread)];
  const std::int32_t next = state_.threads[at(thread)].next;
  const Instruction& instruction = issuer.code[at(next)];
  const auto index = static_cast<std::int32_t>(state_.ops.size());
  IssuedOp op{.thread = thread,
              .instruction = next,
              .rank = issuer.rank,
              .stream_before = stream_ends_[at(instruction.stream)],
              .issued_ns = now_ns()};
  if (instruction.code == Code::kWait) {
    op.awaited = records_[at(instruction.object)];
  } else if (instruction.code == Code::kRecord) {
    records_[at(instruction.object)] = index;
  } else if (instruction.code == Code::kLaunch) {
    op.launch = static_cast<std::int32_t>(state_.launches.size());
    state_.launches.push_back(index);
    if (const std::int32_t group = script_.kernels[at(instruction.object)].group; group != kNone) {
      op.meeting = meetings_[at(group)][at(op.rank)]++;
    }
  }
  stream_ends_[at(instruction.stream)] = index;
  state_.ops.push_back(op);
  enqueue(op);
}

}  // namespace eplb::gpu::program
