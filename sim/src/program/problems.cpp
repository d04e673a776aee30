#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "compiled.hpp"

namespace eplb::sim {
namespace {

/// Goes through a program in the order in which it was written and notes what is wrong.
class Inspector {
 public:
  explicit Inspector(const Program& program) : program_(program) {}

  std::vector<ProgramProblem> inspect() && {
    for (std::size_t index = 0; index < program_.threads.size(); ++index) {
      const HostThread& thread = program_.threads[index];
      thread_ = static_cast<std::int32_t>(index);
      operation_ = kNone;
      held_.clear();
      if (thread.rank < 0 || thread.rank >= program_.ranks) {
        complain(fmt::format("is on rank {}, but there are ranks 0 to {}", thread.rank,
                             program_.ranks - 1));
      }
      check_all(thread.operations);
    }
    return std::move(problems_);
  }

 private:
  void complain(std::string message) {
    problems_.push_back(
        {.thread = thread_, .operation = operation_, .message = std::move(message)});
  }

  // NOLINTNEXTLINE(misc-no-recursion): a tree is walked, as deep as the program nests repeats.
  void check_all(const std::vector<Operation>& operations) {
    for (const Operation& operation : operations) {
      ++operation_;
      std::visit([this](const auto& one) { check(one); }, operation.what);
    }
  }

  void require(const std::string& value, std::string_view key) {
    if (value.empty()) {
      complain(fmt::format("must name its {}", key));
    }
  }

  void check_rank(std::int32_t rank, std::string_view key) {
    if (rank < 0 || rank >= program_.ranks) {
      complain(
          fmt::format("{} must be a rank from 0 to {}, got {}", key, program_.ranks - 1, rank));
    }
  }

  /// All that meet under a name must agree on who they are.
  void check_meeting(std::map<std::string, std::vector<std::int32_t>>& known,
                     const std::string& name, std::vector<std::int32_t> ranks,
                     std::string_view noun) {
    if (ranks.empty()) {
      ranks.resize(static_cast<std::size_t>(program_.ranks));
      std::iota(ranks.begin(), ranks.end(), 0);
    }
    std::ranges::sort(ranks);
    for (const std::int32_t rank : ranks) {
      check_rank(rank, "each of ranks");
    }
    if (std::ranges::adjacent_find(ranks) != ranks.end()) {
      complain("ranks has a rank twice");
    }
    const std::int32_t own = program_.threads[static_cast<std::size_t>(thread_)].rank;
    if (!std::ranges::binary_search(ranks, own)) {
      complain(fmt::format("{} {} is on rank {}, which is not among its ranks", noun, name, own));
    }
    const auto first = known.emplace(name, ranks).first;
    if (first->second != ranks) {
      complain(fmt::format("{} {} has other ranks here than where it stands first", noun, name));
    }
  }

  void check(const LaunchOp& launch) {
    require(launch.stream, "stream");
    if (meets_peers(launch.kind) && launch.group.empty()) {
      complain("a rendezvous must name its group, whose ranks meet in it");
    }
    if (!meets_peers(launch.kind) && (!launch.group.empty() || !launch.ranks.empty())) {
      complain("group and ranks belong to the kinds rendezvous and gang_rendezvous");
    }
    if (meets_peers(launch.kind) && !launch.group.empty()) {
      check_meeting(groups_, launch.group, launch.ranks, "group");
    }
    check_size(launch);
  }

  void check_size(const LaunchOp& launch) {
    const CtaDemand demand{.threads = launch.threads,
                           .registers = launch.threads * launch.registers,
                           .shared_memory_kb = launch.smem_kb};
    const std::int64_t room = SmPool(program_.processor).room(demand);
    if (room == 0) {
      complain("a CTA does not fit on an empty SM: its launch is an error in CUDA");
    } else if (is_gang(launch.kind) && room < launch.ctas) {
      complain(
          fmt::format("a gang of {} CTAs never fits, {} can be resident: its launch is an error in "
                      "CUDA (too many blocks in a cooperative launch)",
                      launch.ctas, room));
    } else if (launch.kind == KernelKind::kRendezvous && room < launch.ctas) {
      complain(
          fmt::format("of {} CTAs that must be resident together {} fit on an empty GPU: it never "
                      "ends",
                      launch.ctas, room));
    }
  }

  void check(const CopyOp& copy) {
    require(copy.stream, "stream");
    if (copy.us.has_value() == copy.bytes.has_value()) {
      complain("a copy takes either us or bytes");
    }
    if (copy.to.has_value()) {
      check_rank(*copy.to, "to");
    }
  }

  void check(const RecordOp& record) {
    require(record.stream, "stream");
    require(record.event, "event");
  }

  void check(const WaitOp& wait) {
    require(wait.stream, "stream");
    require(wait.event, "event");
  }

  void check(const SyncOp& sync) {
    const int targets =
        (sync.stream.empty() ? 0 : 1) + (sync.event.empty() ? 0 : 1) + (sync.device ? 1 : 0);
    if (targets != 1) {
      complain("a sync takes one of stream, event and device: true");
    }
  }

  void check(const LockOp& lock) {
    require(lock.mutex, "mutex");
    ++held_[lock.mutex];
  }

  void check(const UnlockOp& unlock) {
    require(unlock.mutex, "mutex");
    if (--held_[unlock.mutex] < 0) {
      complain(fmt::format("unlocks {}, which its thread has not locked before", unlock.mutex));
    }
  }

  void check(const SetOp& set) { require(set.flag, "flag"); }

  void check(const AwaitOp& await) { require(await.flag, "flag"); }

  void check(const BarrierOp& barrier) {
    require(barrier.name, "name");
    check_meeting(barriers_, barrier.name, barrier.ranks, "barrier");
  }

  void check(const SendOp& send) { check_rank(send.to, "to"); }

  void check(const RecvOp& recv) { check_rank(recv.from, "from"); }

  void check(const SleepOp& /*sleep*/) {}

  // NOLINTNEXTLINE(misc-no-recursion): as check_all.
  void check(const RepeatOp& repeat) {
    if (repeat.body.empty()) {
      complain("a repeat must have something to do");
    }
    const std::map<std::string, int> before = held_;
    check_all(repeat.body);
    for (const auto& [mutex, count] : held_) {
      const auto was = before.find(mutex);
      if (count != (was == before.end() ? 0 : was->second)) {
        complain(fmt::format("a repeat must unlock {} as often as it locks it", mutex));
      }
    }
  }

  const Program& program_;
  std::vector<ProgramProblem> problems_;
  std::int32_t thread_ = kNone;
  std::int32_t operation_ = kNone;
  std::map<std::string, std::vector<std::int32_t>> groups_;
  std::map<std::string, std::vector<std::int32_t>> barriers_;
  std::map<std::string, int> held_;  ///< Locks of the thread minus its unlocks.
};

}  // namespace

std::vector<ProgramProblem> problems_of(const Program& program) {
  return Inspector(program).inspect();
}

}  // namespace eplb::sim
