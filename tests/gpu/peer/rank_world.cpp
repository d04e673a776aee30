#include "rank_world.hpp"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace eplb::gpu::test {
namespace {

using Bytes = std::vector<std::byte>;

bool write_all(int file, const void* data, std::size_t size) {
  const auto* at = static_cast<const std::byte*>(data);
  while (size > 0) {
    const ssize_t written = send(file, at, size, MSG_NOSIGNAL);
    if (written <= 0) {
      return false;
    }
    at += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

bool read_all(int file, void* data, std::size_t size) {
  auto* at = static_cast<std::byte*>(data);
  while (size > 0) {
    const ssize_t got = recv(file, at, size, 0);
    if (got <= 0) {
      return false;
    }
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

bool write_message(int file, const Bytes& bytes) {
  const std::uint64_t size = bytes.size();
  return write_all(file, &size, sizeof(size)) && write_all(file, bytes.data(), bytes.size());
}

bool read_message(int file, Bytes& bytes) {
  std::uint64_t size = 0;
  if (!read_all(file, &size, sizeof(size))) {
    return false;
  }
  bytes.resize(size);
  return read_all(file, bytes.data(), bytes.size());
}

/// A rank's end of the star: tells its bytes and hears those of all.
std::vector<Bytes> gather_through(int socket, std::int32_t rank_count, const Bytes& mine) {
  std::vector<Bytes> all(static_cast<std::size_t>(rank_count));
  if (!write_message(socket, mine)) {
    return {};
  }
  for (Bytes& bytes : all) {
    if (!read_message(socket, bytes)) {
      return {};
    }
  }
  return all;
}

/// The middle of the star: round after round, until a rank has left.
void serve_rounds(const std::vector<int>& sockets) {
  std::vector<Bytes> all(sockets.size());
  while (true) {
    for (std::size_t rank = 0; rank < sockets.size(); ++rank) {
      if (!read_message(sockets[rank], all[rank])) {
        return;
      }
    }
    for (const int socket : sockets) {
      for (const Bytes& bytes : all) {
        if (!write_message(socket, bytes)) {
          return;
        }
      }
    }
  }
}

/// What ranks count, in memory that outlives their processes.
struct Tally {
  std::int64_t check_count = 0;
  std::int64_t failure_count = 0;
  std::int64_t finished = 0;
};

/// Memory that forked processes share; never given back, since a case may use it to its end.
std::span<std::byte> shared_memory(std::size_t bytes) {
  if (bytes == 0) {
    return {};
  }
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::runtime_error("no shared memory");
  }
  return {static_cast<std::byte*>(memory), bytes};
}

void run_rank(const RankCase& rank_case, const RankSetting& setting, Tally& tally) {
  Checks checks;
  try {
    rank_case(checks, setting);
  } catch (const std::exception& error) {
    checks.expect(false, "rank " + std::to_string(setting.group.rank.value) + " threw " +
                             std::string(error.what()));
  }
  tally = {
      .check_count = checks.check_count(), .failure_count = checks.failure_count(), .finished = 1};
}

/// A round of threads: the last to come lets all go.
class ThreadStar {
 public:
  explicit ThreadStar(std::int32_t rank_count) : posted_(static_cast<std::size_t>(rank_count)) {}

  std::vector<Bytes> gather(RankId rank, std::span<const std::byte> mine) {
    constexpr std::chrono::seconds kLimit{100};
    std::unique_lock lock(mutex_);
    posted_[rank.index()].assign(mine.begin(), mine.end());
    const std::int64_t round = round_;
    if (++arrived_ == static_cast<std::int32_t>(posted_.size())) {
      heard_ = posted_;
      arrived_ = 0;
      ++round_;
      all_here_.notify_all();
    } else if (!all_here_.wait_for(lock, kLimit, [&] { return round_ != round; })) {
      return {};
    }
    return heard_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_here_;
  std::vector<Bytes> posted_;
  std::vector<Bytes> heard_;
  std::int32_t arrived_ = 0;
  std::int64_t round_ = 0;
};

/// Starts a process that ends with `work`, at the latest by its alarm.
template <typename Work>
pid_t start_process(int limit_s, const Work& work) {
  std::fflush(stdout);
  std::fflush(stderr);
  const pid_t process = fork();
  if (process < 0) {
    throw std::runtime_error("fork failed");
  }
  if (process == 0) {
    alarm(static_cast<unsigned>(limit_s));
    work();
    std::fflush(stdout);
    std::fflush(stderr);
    // No destructor of the parent's objects runs here.
    _exit(EXIT_SUCCESS);
  }
  return process;
}

WorldOutcome outcome_of(std::span<const Tally> tallies, const std::vector<pid_t>& processes) {
  WorldOutcome outcome;
  for (const pid_t process : processes) {
    int status = 0;
    waitpid(process, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != EXIT_SUCCESS) {
      std::fprintf(stderr, "  FAILED a process was ended, status %d%s\n", status,
                   WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? ": out of time" : "");
    }
  }
  for (const Tally& tally : tallies) {
    outcome.check_count += tally.check_count;
    outcome.failure_count += tally.failure_count + (tally.finished == 1 ? 0 : 1);
  }
  return outcome;
}

std::span<Tally> shared_tallies(std::int32_t count) {
  const std::span<std::byte> memory =
      shared_memory(sizeof(Tally) * static_cast<std::size_t>(count));
  return {reinterpret_cast<Tally*>(memory.data()), static_cast<std::size_t>(count)};
}

}  // namespace

WorldOutcome run_as_processes(const WorldOptions& options, const RankCase& rank_case) {
  const std::span<std::byte> shared = shared_memory(options.shared_bytes);
  const std::span<Tally> tallies = shared_tallies(options.rank_count);
  std::vector<int> sockets;
  std::vector<pid_t> processes;
  for (std::int32_t rank = 0; rank < options.rank_count; ++rank) {
    std::array<int, 2> pair{-1, -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) {
      throw std::runtime_error("no socket pair");
    }
    const timeval limit{.tv_sec = options.limit_s, .tv_usec = 0};
    for (const int end : pair) {
      setsockopt(end, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    }
    processes.push_back(start_process(options.limit_s, [&, socket = pair[1]] {
      // Ends of other ranks left open here would hide that those ranks have gone.
      for (const int other : sockets) {
        close(other);
      }
      close(pair[0]);
      const auto gather = [&](std::span<const std::byte> mine) {
        return gather_through(socket, options.rank_count, Bytes(mine.begin(), mine.end()));
      };
      const PeerGroup group{.rank = RankId{rank},
                            .rank_count = options.rank_count,
                            .device = 0,
                            .all_gather = gather};
      run_rank(rank_case, {.group = group, .shared = shared},
               tallies[static_cast<std::size_t>(rank)]);
    }));
    close(pair[1]);
    sockets.push_back(pair[0]);
  }
  serve_rounds(sockets);
  for (const int socket : sockets) {
    close(socket);
  }
  return outcome_of(tallies, processes);
}

WorldOutcome run_as_threads(const WorldOptions& options, const RankCase& rank_case) {
  const std::span<std::byte> shared = shared_memory(options.shared_bytes);
  const std::span<Tally> tallies = shared_tallies(options.rank_count);
  const pid_t process = start_process(options.limit_s, [&] {
    ThreadStar star(options.rank_count);
    std::vector<std::thread> threads;
    threads.reserve(static_cast<std::size_t>(options.rank_count));
    for (std::int32_t rank = 0; rank < options.rank_count; ++rank) {
      threads.emplace_back([&, rank] {
        const auto gather = [&star, rank](std::span<const std::byte> mine) {
          return star.gather(RankId{rank}, mine);
        };
        const PeerGroup group{.rank = RankId{rank},
                              .rank_count = options.rank_count,
                              .device = 0,
                              .all_gather = gather};
        run_rank(rank_case, {.group = group, .shared = shared},
                 tallies[static_cast<std::size_t>(rank)]);
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  });
  return outcome_of(tallies, {process});
}

void barrier(const PeerGroup& group) {
  if (group.all_gather({}).size() != static_cast<std::size_t>(group.rank_count)) {
    throw std::runtime_error("a rank was not heard");
  }
}

}  // namespace eplb::gpu::test
