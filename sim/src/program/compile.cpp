#include <algorithm>
#include <cmath>
#include <numeric>

#include "compiled.hpp"

namespace eplb::sim {
namespace {

std::int64_t whole_ns(double us) {
  return std::llround(us * 1e3);
}

/// Index of the first item that equals `item` by `same`, which is added if there is none.
template <typename Item, typename Same>
std::int32_t index_of(std::vector<Item>& items, Item item, Same same) {
  const auto found = std::ranges::find_if(items, same);
  const auto index = static_cast<std::int32_t>(found - items.begin());
  if (found == items.end()) {
    items.push_back(std::move(item));
  }
  return index;
}

class Compiler {
 public:
  explicit Compiler(const Program& program) : program_(program) {
    out_.ranks = program.ranks;
    out_.processor = program.processor;
    out_.max_connections = program.max_connections;
    out_.waiting_gang_blocks_later_kernels = program.waiting_gang_blocks_later_kernels;
  }

  CompiledProgram compile() && {
    for (const HostThread& thread : program_.threads) {
      rank_ = thread.rank;
      code_.clear();
      add_all(thread.operations);
      out_.threads.push_back({.rank = thread.rank, .name = thread.name, .code = code_});
    }
    return std::move(out_);
  }

 private:
  /// A fixed order of creation stands for the order in which threads first use their streams.
  std::int32_t stream(const std::string& name) {
    const auto of_rank =
        std::ranges::count_if(out_.streams, [&](const Stream& s) { return s.rank == rank_; });
    const std::int32_t connections = program_.max_connections;
    const std::int32_t queue =
        rank_ * connections + static_cast<std::int32_t>(of_rank) % connections;
    return index_of(out_.streams, Stream{.rank = rank_, .name = name, .queue = queue},
                    [&](const Stream& s) { return s.rank == rank_ && s.name == name; });
  }

  std::int32_t owned(std::vector<OwnedName>& names, const std::string& name) {
    return index_of(names, OwnedName{.rank = rank_, .name = name},
                    [&](const OwnedName& o) { return o.rank == rank_ && o.name == name; });
  }

  std::int32_t meeting(std::vector<Meeting>& meetings, const std::string& name,
                       std::vector<std::int32_t> ranks) {
    if (ranks.empty()) {
      ranks.resize(static_cast<std::size_t>(program_.ranks));
      std::iota(ranks.begin(), ranks.end(), 0);
    }
    std::ranges::sort(ranks);
    return index_of(meetings, Meeting{.name = name, .ranks = std::move(ranks)},
                    [&](const Meeting& m) { return m.name == name; });
  }

  std::int32_t channel(std::int32_t from, std::int32_t to, const std::string& tag) {
    return index_of(out_.channels, Channel{.from = from, .to = to, .tag = tag},
                    [&](const Channel& c) { return c.from == from && c.to == to && c.tag == tag; });
  }

  // NOLINTNEXTLINE(misc-no-recursion): a tree is walked, as deep as the program nests repeats.
  void add_all(const std::vector<Operation>& operations) {
    for (const Operation& operation : operations) {
      std::visit([this](const auto& one) { add(one); }, operation.what);
    }
  }

  void add(const LaunchOp& launch) {
    Kernel kernel{.kind = launch.kind,
                  .name = launch.name.empty() ? launch.group : launch.name,
                  .demand = {.threads = launch.threads,
                             .registers = launch.threads * launch.registers,
                             .shared_memory_kb = launch.smem_kb},
                  .ctas = launch.ctas};
    kernel.name = kernel.name.empty() ? "kernel" : kernel.name;
    if (meets_peers(launch.kind)) {
      kernel.group = meeting(out_.groups, launch.group, launch.ranks);
    }
    if (!launch.exclusive.empty()) {
      kernel.exclusive = owned(out_.exclusives, launch.exclusive);
    }
    out_.kernels.push_back(std::move(kernel));
    code_.push_back({.code = Code::kLaunch,
                     .stream = stream(launch.stream),
                     .object = static_cast<std::int32_t>(out_.kernels.size()) - 1,
                     .duration_ns = whole_ns(launch.us)});
  }

  void add(const CopyOp& copy) {
    const double us =
        copy.us.value_or(program_.copy_start_us + static_cast<double>(copy.bytes.value_or(0)) /
                                                      (program_.copy_bandwidth_gb_per_s * 1e3));
    code_.push_back(
        {.code = Code::kCopy, .stream = stream(copy.stream), .duration_ns = whole_ns(us)});
  }

  void add(const RecordOp& record) {
    code_.push_back({.code = Code::kRecord,
                     .stream = stream(record.stream),
                     .object = owned(out_.events, record.event)});
  }

  void add(const WaitOp& wait) {
    code_.push_back({.code = Code::kWait,
                     .stream = stream(wait.stream),
                     .object = owned(out_.events, wait.event)});
  }

  void add(const SyncOp& sync) {
    if (!sync.stream.empty()) {
      code_.push_back({.code = Code::kSyncStream, .stream = stream(sync.stream)});
    } else if (!sync.event.empty()) {
      add_named(Code::kSyncEvent, out_.events, sync.event);
    } else {
      code_.push_back({.code = Code::kSyncDevice});
    }
  }

  void add(const LockOp& lock) { add_named(Code::kLock, out_.mutexes, lock.mutex); }

  void add(const UnlockOp& unlock) { add_named(Code::kUnlock, out_.mutexes, unlock.mutex); }

  void add(const SetOp& set) { add_named(Code::kSet, out_.flags, set.flag); }

  void add(const AwaitOp& await) { add_named(Code::kAwait, out_.flags, await.flag); }

  void add_named(Code code, std::vector<OwnedName>& names, const std::string& name) {
    code_.push_back({.code = code, .object = owned(names, name)});
  }

  void add(const BarrierOp& barrier) {
    code_.push_back(
        {.code = Code::kBarrier, .object = meeting(out_.barriers, barrier.name, barrier.ranks)});
  }

  void add(const SendOp& send) {
    code_.push_back(
        {.code = Code::kSend, .object = channel(rank_, send.to, send.tag), .is_lost = send.lost});
  }

  void add(const RecvOp& recv) {
    code_.push_back({.code = Code::kRecv, .object = channel(recv.from, rank_, recv.tag)});
  }

  void add(const SleepOp& sleep) {
    code_.push_back({.code = Code::kSleep, .duration_ns = whole_ns(sleep.us)});
  }

  // NOLINTNEXTLINE(misc-no-recursion): as add_all.
  void add(const RepeatOp& repeat) {
    const std::size_t begin = code_.size();
    const std::int64_t times = repeat.times.value_or(kForever);
    out_.repeats_forever = out_.repeats_forever || times == kForever;
    code_.push_back({.code = Code::kRepeat, .times = times});
    add_all(repeat.body);
    code_.push_back({.code = Code::kRepeatEnd, .jump = static_cast<std::int32_t>(begin)});
    code_[begin].jump = static_cast<std::int32_t>(code_.size());
  }

  const Program& program_;
  CompiledProgram out_;
  std::int32_t rank_ = 0;
  std::vector<Instruction> code_;
};

}  // namespace

CompiledProgram compile(const Program& program) {
  return Compiler(program).compile();
}

}  // namespace eplb::sim
