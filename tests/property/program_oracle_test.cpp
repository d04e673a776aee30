// Goal: no hang is missed. Method: small programs drawn at random; what a timed run finds must be
// an order that hangs by exhaustive search, and whatever can hang by that search must be reported
// as a hazard. False alarms are counted, printed, and bounded.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "eplb/sim/program/program_run.hpp"
#include "eplb/sim/random_stream.hpp"
#include "seed.hpp"

namespace eplb::sim {
namespace {

constexpr int kPrograms = 120;
constexpr std::int64_t kStatesMax = 3000;

/// What may stand in a program of one kind.
enum class Family { kKernels, kThreads, kSharedQueues };

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed, "program oracle") {}

  Program draw(Family family) {
    Program program;
    program.ranks = family == Family::kThreads ? 2 : 2 + below(2);
    program.processor = {.sm_count = 2 + below(3),
                         .ctas_per_sm = 2,
                         .threads_per_sm = 256,
                         .registers_per_sm = 65536,
                         .shared_memory_per_sm_kb = 100};
    program.max_connections = family == Family::kSharedQueues ? 1 : 4;
    program.waiting_gang_blocks_later_kernels = below(3) == 0;
    const std::int32_t per_rank = family == Family::kThreads ? 2 : 1;
    // Kernels are the same on all ranks, so that a hang comes of their order.
    std::vector<LaunchOp> kernels;
    kernels.reserve(3);
    const std::int32_t count = family == Family::kThreads ? 2 : 2 + below(2);
    for (std::int32_t index = 0; index < count; ++index) {
      kernels.push_back(kernel(program, index));
    }
    for (std::int32_t rank = 0; rank < program.ranks; ++rank) {
      for (std::int32_t thread = 0; thread < per_rank; ++thread) {
        std::vector<LaunchOp> own;
        for (std::size_t index = 0; index < kernels.size(); ++index) {
          if (per_rank == 1 || index % 2 == static_cast<std::size_t>(thread)) {
            own.push_back(kernels[index]);
          }
        }
        if (below(3) == 0 && own.size() > 1) {
          std::swap(own.front(), own.back());
        }
        program.threads.push_back(host(rank, thread, own, family));
      }
    }
    return program;
  }

 private:
  std::int32_t below(std::uint64_t bound) {
    return static_cast<std::int32_t>(random_.below(bound));
  }

  LaunchOp kernel(const Program& program, std::int32_t index) {
    LaunchOp launch{.stream = "s" + std::to_string(below(3)),
                    .kind = static_cast<KernelKind>(below(4)),
                    .name = "k" + std::to_string(index),
                    .ctas = 1 + below(static_cast<std::uint64_t>(program.processor.sm_count)),
                    .smem_kb = below(2) == 0 ? 60 : 40,
                    .us = 5};
    if (launch.kind == KernelKind::kRendezvous || launch.kind == KernelKind::kGangRendezvous) {
      launch.group = launch.name;
    }
    launch.exclusive = below(6) == 0 ? "pad" : "";
    return launch;
  }

  HostThread host(std::int32_t rank, std::int32_t thread, const std::vector<LaunchOp>& kernels,
                  Family family) {
    HostThread host{.rank = rank, .name = "t" + std::to_string(thread), .operations = {}};
    const bool locks = family == Family::kThreads && below(2) == 0;
    const std::string first = below(2) == 0 ? "m" : "n";
    if (locks) {
      host.operations.push_back({LockOp{.mutex = first}});
    }
    for (const LaunchOp& launch : kernels) {
      glue(host.operations);
      host.operations.push_back({launch});
    }
    if (locks) {
      const std::string second = first == "m" ? "n" : "m";
      host.operations.push_back({LockOp{.mutex = second}});
      host.operations.push_back({UnlockOp{.mutex = second}});
      host.operations.push_back({UnlockOp{.mutex = first}});
    }
    if (below(2) == 0) {
      host.operations.push_back({SyncOp{.device = true}});
    }
    return host;
  }

  /// Something that orders, or seems to.
  void glue(std::vector<Operation>& operations) {
    const std::string stream = "s" + std::to_string(below(3));
    switch (below(8)) {
      case 0:
        operations.push_back({RecordOp{.stream = stream, .event = "e"}});
        break;
      case 1:
        operations.push_back({WaitOp{.stream = stream, .event = "e"}});
        break;
      case 2:
        operations.push_back({SyncOp{.stream = stream}});
        break;
      case 3:
        operations.push_back({CopyOp{.stream = stream, .us = 3}});
        break;
      default:
        break;
    }
  }

  RandomStream random_;
};

std::string story(const std::vector<Wait>& waits) {
  std::string text;
  for (const Wait& wait : waits) {
    text += "\n  rank " + std::to_string(wait.rank) + ": " + wait.operation + " [" + wait.holds +
            "] waits for " + wait.waits_for;
  }
  return text;
}

struct Tally {
  int complete = 0;
  int can_hang = 0;
  int timed_hangs = 0;
  int false_alarms = 0;
  int reported = 0;
};

Tally judge(Family family, std::uint64_t first_seed) {
  Tally tally;
  for (int index = 0; index < kPrograms; ++index) {
    const std::uint64_t seed = first_seed + static_cast<std::uint64_t>(index);
    INFO(eplb::test::replay_hint(seed));
    CAPTURE(seed);
    Program program = Generator(seed).draw(family);
    if (!problems_of(program).empty()) {
      continue;
    }
    program.jitter_us = 10;
    const bool timed = run_program(program, seed)->hang.has_value();
    const Exploration oracle = *explore_program(program, kStatesMax);
    const bool reported = !find_hazards(program).empty();
    if (!oracle.is_complete) {
      continue;
    }
    CHECK_MESSAGE((!timed || oracle.can_hang), "a run hung in an order that the search missed");
    CHECK_MESSAGE((!oracle.can_hang || reported),
                  "no hazard tells of" << story(oracle.explanation));
    ++tally.complete;
    tally.can_hang += oracle.can_hang ? 1 : 0;
    tally.timed_hangs += timed ? 1 : 0;
    tally.reported += reported ? 1 : 0;
    tally.false_alarms += reported && !oracle.can_hang ? 1 : 0;
  }
  MESSAGE("complete " << tally.complete << ", can hang " << tally.can_hang << ", one run hung "
                      << tally.timed_hangs << ", reported " << tally.reported << ", false alarms "
                      << tally.false_alarms);
  return tally;
}

TEST_CASE("no hang of kernels on streams is missed, and few alarms are false") {
  const Tally tally = judge(Family::kKernels, eplb::test::run_seed());
  CHECK(tally.complete > kPrograms / 2);
  CHECK(tally.can_hang > kPrograms / 20);
  CHECK(tally.timed_hangs > 0);
  CHECK(tally.false_alarms * 10 <= tally.complete);
}

TEST_CASE("no hang of streams that share a queue is missed, and few alarms are false") {
  const Tally tally = judge(Family::kSharedQueues, eplb::test::run_seed());
  CHECK(tally.complete > kPrograms / 2);
  CHECK(tally.can_hang > kPrograms / 20);
  CHECK(tally.false_alarms * 10 <= tally.complete);
}

TEST_CASE("no hang of two threads a rank is missed, and few alarms are false") {
  const Tally tally = judge(Family::kThreads, eplb::test::run_seed());
  CHECK(tally.complete > kPrograms / 8);
  CHECK(tally.can_hang > kPrograms / 20);
  CHECK(tally.false_alarms * 10 <= tally.complete);
}

}  // namespace
}  // namespace eplb::sim
