#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "checks.hpp"
#include "eplb/gpu/memory/symmetric_heap.hpp"

namespace eplb::gpu::test {

/// What a rank of a case is given.
struct RankSetting {
  PeerGroup group;              ///< Its device is for the case to set.
  std::span<std::byte> shared;  ///< Zeros at first, the same memory for all ranks.
};

using RankCase = std::function<void(Checks&, const RankSetting&)>;

struct WorldOptions {
  std::int32_t rank_count = 1;
  std::size_t shared_bytes = 0;
  int limit_s = 60;  ///< After it, a process is ended by its alarm.
};

/// What became of a world's ranks.
struct WorldOutcome {
  std::int64_t check_count = 0;
  std::int64_t failure_count = 0;  ///< A rank that threw or was ended counts as one.
};

/// Runs the case once a rank, each in a process of its own, forked before CUDA is touched. They
/// exchange bytes through sockets to this process.
[[nodiscard]] WorldOutcome run_as_processes(const WorldOptions& options, const RankCase& rank_case);

/// Runs the case once a rank, each a thread of one forked process.
[[nodiscard]] WorldOutcome run_as_threads(const WorldOptions& options, const RankCase& rank_case);

/// Waits for all ranks. Throws std::runtime_error if one is not heard.
void barrier(const PeerGroup& group);

}  // namespace eplb::gpu::test
