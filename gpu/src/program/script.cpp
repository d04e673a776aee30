#include "script.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>

namespace eplb::gpu::program {
namespace {

/// Index of the first item that is the same by `same`; `item` is added if there is none.
template <typename Item, typename Same>
std::int32_t index_of(std::vector<Item>& items, Item item, Same same) {
  const auto found = std::find_if(items.begin(), items.end(), same);
  const auto index = static_cast<std::int32_t>(found - items.begin());
  if (found == items.end()) {
    items.push_back(std::move(item));
  }
  return index;
}

class Compiler {
 public:
  Compiler(const Program& program, double time_scale)
      : program_(program), time_scale_(time_scale) {}

  Result<Script> compile() && {
    script_.ranks = program_.ranks;
    if (program_.ranks < 1 || program_.ranks > kRanksMax) {
      return fail(ErrorCode::kInvalidArgument, "ranks: must be 1 to " + std::to_string(kRanksMax) +
                                                   ", got " + std::to_string(program_.ranks));
    }
    for (const HostThread& thread : program_.threads) {
      thread_name_ = thread.name;
      rank_ = thread.rank;
      code_.clear();
      require_rank(thread.rank, "its rank");
      add_all(thread.operations);
      script_.threads.push_back({.rank = thread.rank, .name = thread.name, .code = code_});
    }
    if (!problems_.empty()) {
      return fail(ErrorCode::kInvalidArgument, std::move(problems_));
    }
    return std::move(script_);
  }

 private:
  void complain(std::string_view message) {
    problems_ += (problems_.empty() ? "thread " : "; thread ") + thread_name_ + " of rank " +
                 std::to_string(rank_) + ": " + std::string(message);
  }

  void require(bool holds, std::string_view message) {
    if (!holds) {
      complain(message);
    }
  }

  void require_rank(std::int32_t rank, std::string_view noun) {
    if (rank < 0 || rank >= program_.ranks) {
      complain(std::string(noun) + " must be 0 to " + std::to_string(program_.ranks - 1) +
               ", got " + std::to_string(rank));
    }
  }

  /// In whole ns; one minute is more than any limit allows.
  std::int64_t scaled_ns(double us) {
    constexpr double kUsMax = 60e6;
    const double scaled_us = us * time_scale_;
    if (!(scaled_us >= 0 && scaled_us <= kUsMax)) {
      complain("us must be 0 to 60 s, stretched");
      return 0;
    }
    return std::llround(scaled_us * 1e3);
  }

  std::int32_t owned(std::vector<OwnedName>& names, const std::string& name,
                     std::string_view noun) {
    require(!name.empty(), "must name its " + std::string(noun));
    return index_of(names, OwnedName{.rank = rank_, .name = name},
                    [&](const OwnedName& o) { return o.rank == rank_ && o.name == name; });
  }

  std::int32_t stream(const std::string& name) { return owned(script_.streams, name, "stream"); }

  std::int32_t meeting(std::vector<Meeting>& meetings, const std::string& name,
                       std::vector<std::int32_t> ranks) {
    if (ranks.empty()) {
      ranks.resize(static_cast<std::size_t>(program_.ranks));
      std::iota(ranks.begin(), ranks.end(), 0);
    }
    std::sort(ranks.begin(), ranks.end());
    for (const std::int32_t rank : ranks) {
      require_rank(rank, "each of ranks");
    }
    require(std::adjacent_find(ranks.begin(), ranks.end()) == ranks.end(),
            "ranks has a rank twice");
    require(std::binary_search(ranks.begin(), ranks.end(), rank_),
            name + " is without the rank of its own thread");
    const std::int32_t index = index_of(meetings, Meeting{.name = name, .ranks = ranks},
                                        [&](const Meeting& one) { return one.name == name; });
    require(meetings[static_cast<std::size_t>(index)].ranks == ranks,
            name + " has other ranks here than where it stands first");
    return index;
  }

  std::int32_t channel(std::int32_t from, std::int32_t to, const std::string& tag) {
    require_rank(from, "from");
    require_rank(to, "to");
    return index_of(script_.channels, Channel{.from = from, .to = to, .tag = tag},
                    [&](const Channel& c) { return c.from == from && c.to == to && c.tag == tag; });
  }

  // NOLINTNEXTLINE(misc-no-recursion): a tree is walked, as deep as the program nests repeats.
  void add_all(const std::vector<Operation>& operations) {
    for (const Operation& operation : operations) {
      std::visit([this](const auto& one) { add(one); }, operation.what);
    }
  }

  void add(const LaunchOp& launch) {
    constexpr std::int32_t kRegisters = 32;
    Kernel kernel{.kind = launch.kind,
                  .name = launch.name.empty() ? launch.group : launch.name,
                  .rank = rank_,
                  .ctas = launch.ctas,
                  .threads = launch.threads,
                  .smem_kb = launch.smem_kb,
                  .duration_ns = scaled_ns(launch.us)};
    kernel.name = kernel.name.empty() ? "kernel" : kernel.name;
    require(launch.ctas >= 1, "ctas must be at least 1");
    require(launch.threads >= 1 && launch.threads <= 1024, "threads must be 1 to 1024");
    require(launch.smem_kb >= 0 && launch.smem_kb <= 1024, "smem_kb must be 0 to 1024");
    require(launch.registers <= kRegisters,
            "registers: a GPU runs a kernel of ours in its place, of 32; more cannot be demanded");
    require(meets_peers(launch.kind) != launch.group.empty(),
            "a group belongs to a rendezvous, and a rendezvous to a group");
    if (meets_peers(launch.kind)) {
      kernel.group = meeting(script_.groups, launch.group, launch.ranks);
    }
    if (!launch.exclusive.empty()) {
      kernel.exclusive = owned(script_.exclusives, launch.exclusive, "exclusive");
    }
    script_.kernels.push_back(std::move(kernel));
    code_.push_back({.code = Code::kLaunch,
                     .stream = stream(launch.stream),
                     .object = static_cast<std::int32_t>(script_.kernels.size()) - 1});
  }

  void add(const CopyOp& copy) {
    require(copy.us.has_value() != copy.bytes.has_value(), "a copy takes either us or bytes");
    const std::int64_t bytes = copy.bytes.value_or(
        std::llround(copy.us.value_or(0) * program_.copy_bandwidth_gb_per_s * 1e3));
    require(bytes >= 0 && bytes <= kCopyBytesMax, "a copy must have 0 to 2^32 bytes");
    if (copy.to.has_value()) {
      require_rank(*copy.to, "to");
    }
    code_.push_back({.code = Code::kCopy,
                     .stream = stream(copy.stream),
                     .bytes = bytes,
                     .to = copy.to.value_or(kNone)});
  }

  void add(const RecordOp& record) {
    code_.push_back({.code = Code::kRecord,
                     .stream = stream(record.stream),
                     .object = owned(script_.events, record.event, "event")});
  }

  void add(const WaitOp& wait) {
    code_.push_back({.code = Code::kWait,
                     .stream = stream(wait.stream),
                     .object = owned(script_.events, wait.event, "event")});
  }

  void add(const SyncOp& sync) {
    const int targets =
        (sync.stream.empty() ? 0 : 1) + (sync.event.empty() ? 0 : 1) + (sync.device ? 1 : 0);
    require(targets == 1, "a sync takes one of stream, event and device");
    if (!sync.stream.empty()) {
      code_.push_back({.code = Code::kSyncStream, .stream = stream(sync.stream)});
    } else if (!sync.event.empty()) {
      add_owned(Code::kSyncEvent, script_.events, sync.event, "event");
    } else {
      code_.push_back({.code = Code::kSyncDevice});
    }
  }

  void add(const LockOp& lock) { add_owned(Code::kLock, script_.mutexes, lock.mutex, "mutex"); }

  void add(const UnlockOp& unlock) {
    add_owned(Code::kUnlock, script_.mutexes, unlock.mutex, "mutex");
  }

  void add(const SetOp& set) { add_owned(Code::kSet, script_.flags, set.flag, "flag"); }

  void add(const AwaitOp& await) { add_owned(Code::kAwait, script_.flags, await.flag, "flag"); }

  void add_owned(Code code, std::vector<OwnedName>& names, const std::string& name,
                 std::string_view noun) {
    code_.push_back({.code = code, .object = owned(names, name, noun)});
  }

  void add(const BarrierOp& barrier) {
    code_.push_back(
        {.code = Code::kBarrier, .object = meeting(script_.barriers, barrier.name, barrier.ranks)});
  }

  void add(const SendOp& send) {
    code_.push_back(
        {.code = Code::kSend, .object = channel(rank_, send.to, send.tag), .is_lost = send.lost});
  }

  void add(const RecvOp& recv) {
    code_.push_back({.code = Code::kRecv, .object = channel(recv.from, rank_, recv.tag)});
  }

  void add(const SleepOp& sleep) {
    code_.push_back({.code = Code::kSleep, .duration_ns = scaled_ns(sleep.us)});
  }

  // NOLINTNEXTLINE(misc-no-recursion): as add_all.
  void add(const RepeatOp& repeat) {
    require(repeat.times.value_or(0) >= 0, "a repeat's times must be 0 or more");
    if (repeat.times == 0) {
      return;
    }
    const std::size_t begin = code_.size();
    code_.push_back({.code = Code::kRepeat, .times = repeat.times.value_or(kForever)});
    add_all(repeat.body);
    // A body that does nothing would keep a cursor busy for ever.
    require(code_.size() > begin + 1, "a repeat must have something to do");
    code_.push_back({.code = Code::kRepeatEnd, .jump = static_cast<std::int32_t>(begin)});
    code_[begin].jump = static_cast<std::int32_t>(code_.size());
  }

  const Program& program_;
  double time_scale_;
  Script script_;
  std::string problems_;
  std::string thread_name_;
  std::int32_t rank_ = 0;
  std::vector<Instruction> code_;
};

}  // namespace

Result<Script> compile(const Program& program, double time_scale) {
  return Compiler(program, time_scale).compile();
}

Cursor::Cursor(const std::vector<Instruction>& code) : code_(&code) {
  skip_repeats();
}

void Cursor::advance() {
  ++next_;
  skip_repeats();
}

void Cursor::skip_repeats() {
  while (!has_ended()) {
    const Instruction& instruction = (*code_)[next_];
    if (instruction.code == Code::kRepeat) {
      rounds_.push_back(0);
      ++next_;
    } else if (instruction.code == Code::kRepeatEnd) {
      const auto begin = static_cast<std::size_t>(instruction.jump);
      const std::int64_t times = (*code_)[begin].times;
      if (times == kForever || ++rounds_.back() < times) {
        next_ = begin + 1;
      } else {
        rounds_.pop_back();
        ++next_;
      }
    } else {
      return;
    }
  }
}

}  // namespace eplb::gpu::program
