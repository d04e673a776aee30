// Goal: what the control plane costs a rank, and how long ranks of one host wait for each other.
// Method: ranks as threads over one board, each polling without a pause; more ranks than cores show
// the scheduler's part, not the board's. A loss is a child that is killed while nobody polls.
#include <benchmark/benchmark.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "eplb/group/loss_monitor.hpp"
#include "eplb/group/membership.hpp"

namespace eplb {
namespace {

using group::Membership;

Status status_of(RankId rank, std::int64_t round) {
  Status status;
  status.rank = rank;
  status.key = {.rearrangement = 1, .round = round};
  status.state = MigrationState::kMoving;
  return status;
}

const Status* await(const env::ControlPlane& plane, RankId rank, std::int64_t round) {
  const Status* found = nullptr;
  while ((found = plane.find(rank, status_of(rank, round).key)) == nullptr) {
    std::this_thread::yield();
  }
  return found;
}

/// All ranks of a group; this thread is rank 0, the others answer what `answer` has them.
class Group {
 public:
  template <typename Answer>
  Group(std::int32_t rank_count, const group::SumSizes& sums, const Answer& answer)
      : membership_(Membership::alone(rank_count, sums).value()),
        plane_(membership_->control_plane(RankId{0})) {
    for (std::int32_t rank = 1; rank < rank_count; ++rank) {
      threads_.emplace_back([this, rank, answer] {
        const auto plane = membership_->control_plane(RankId{rank});
        for (std::int64_t round = 0; answer(*plane, round); ++round) {
        }
      });
    }
  }

  ~Group() {
    plane_->end_group({.cause = FailureCause::kDrained, .rank = RankId{0}});
    for (std::thread& thread : threads_) {
      thread.join();
    }
  }

  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  Group(Group&&) = delete;
  Group& operator=(Group&&) = delete;

  [[nodiscard]] env::ControlPlane& plane() { return *plane_; }

 private:
  std::unique_ptr<Membership> membership_;
  std::unique_ptr<group::BoardControlPlane> plane_;
  std::vector<std::thread> threads_;
};

/// A round of all ranks: rank 0 posts, every other posts once it has found that, and rank 0 finds
/// them all. Half of it is the way from a post until it is seen by all.
void round_of_all(benchmark::State& state) {
  const auto rank_count = static_cast<std::int32_t>(state.range(0));
  Group group(rank_count, {}, [](env::ControlPlane& plane, std::int64_t round) {
    while (plane.find(RankId{0}, status_of(RankId{0}, round).key) == nullptr) {
      if (plane.group_failure()) {
        return false;
      }
      std::this_thread::yield();
    }
    plane.post(status_of(plane.rank(), round));
    return true;
  });
  std::int64_t round = 0;
  for (auto _ : state) {
    group.plane().post(status_of(RankId{0}, round));
    for (std::int32_t rank = 1; rank < rank_count; ++rank) {
      await(group.plane(), RankId{rank}, round);
    }
    ++round;
  }
}

/// 256 KB of doubles, from the start on all ranks to the sum on rank 0.
void sum_of_all(benchmark::State& state) {
  constexpr std::int64_t kValues = 32'768;
  const std::vector<double> values(kValues, 1.5);
  const auto key_of = [](std::int64_t index) {
    return env::SumKey{.kind = env::SumKey::Kind::kWindow, .index = index};
  };
  const auto take = [&](env::ControlPlane& plane, std::int64_t index) {
    plane.start_sum(key_of(index), values);
    while (plane.try_take_sum(key_of(index)) == nullptr) {
      if (plane.group_failure()) {
        return false;
      }
      std::this_thread::yield();
    }
    return true;
  };
  Group group(static_cast<std::int32_t>(state.range(0)), {.window_values_max = kValues}, take);
  std::int64_t index = 0;
  for (auto _ : state) {
    take(group.plane(), index++);
  }
}

/// What a poll costs: of a status that has come (range 1), or that has not (range 0), among 64
/// rounds that are kept.
void find(benchmark::State& state) {
  const auto membership = Membership::alone(2, {}).value();
  const auto mine = membership->control_plane(RankId{0});
  const auto peers = membership->control_plane(RankId{1});
  constexpr std::int64_t kRounds = 64;
  for (std::int64_t round = 0; round < kRounds; ++round) {
    peers->post(status_of(RankId{1}, round));
  }
  const RoundKey key = status_of(RankId{1}, state.range(0) == 1 ? kRounds / 2 : kRounds).key;
  for (auto _ : state) {
    benchmark::DoNotOptimize(mine->find(RankId{1}, key));
  }
}

void post(benchmark::State& state) {
  const auto membership = Membership::alone(32, {}).value();
  const auto plane = membership->control_plane(RankId{0});
  std::int64_t round = 0;
  for (auto _ : state) {
    plane->post(status_of(RankId{0}, round++));
  }
}

/// From a child's kill -9 until the group has ended.
void loss(benchmark::State& state) {
  const std::vector<RankId> ranks{RankId{0}, RankId{1}};
  for (auto _ : state) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::pause();
      ::_exit(0);
    }
    const auto board =
        group::Board::create({.name = "bench", .rank_count = 2, .local_ranks = ranks}).value();
    const auto monitor =
        group::LossMonitor::watch(*board, {{.pid = child, .ranks = {RankId{1}}}}).value();
    const auto start = std::chrono::steady_clock::now();
    ::kill(child, SIGKILL);
    while (!board->failure()) {
      std::this_thread::yield();
    }
    state.SetIterationTime(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    ::waitpid(child, nullptr, 0);
  }
}

/// Rendezvous, board and monitor of so many memberships on one host, without making processes.
void join(benchmark::State& state) {
  constexpr std::uint16_t kPort = 19'741;
  const auto count = static_cast<std::int32_t>(state.range(0));
  for (auto _ : state) {
    std::vector<std::unique_ptr<Membership>> memberships(static_cast<std::size_t>(count));
    std::vector<std::thread> threads;
    threads.reserve(memberships.size());
    for (std::int32_t rank = 0; rank < count; ++rank) {
      threads.emplace_back([&memberships, rank, count] {
        group::RendezvousOptions options;
        options.port = kPort;
        options.rank_count = count;
        options.ranks = {RankId{rank}};
        auto joined = Membership::join(options, {.window_values_max = 61'440});
        if (!joined) {
          throw std::runtime_error(joined.error().message);
        }
        memberships[RankId{rank}.index()] = std::move(*joined);
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  }
}

BENCHMARK(find)->Name("group/find")->Arg(0)->Arg(1);
BENCHMARK(post)->Name("group/post");
BENCHMARK(round_of_all)->Name("group/round")->Arg(2)->Arg(8)->UseRealTime();
BENCHMARK(sum_of_all)
    ->Name("group/sum")
    ->Arg(2)
    ->Arg(8)
    ->UseRealTime()
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(loss)->Name("group/loss")->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(join)->Name("group/join")->Arg(32)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace eplb
