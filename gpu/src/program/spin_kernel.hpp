#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "launch_record.hpp"

namespace eplb::gpu::program {

inline constexpr int kSmsMax = 256;

/// How the CTAs of one launch find each other, in their GPU's memory. Zero before the launch.
struct LaunchCounters {
  unsigned long long begun_ns = 0;  ///< When its first CTA came, from where its limit counts.
  std::int32_t arrived = 0;
  std::int32_t departed = 0;
  std::int32_t go = 0;       ///< 1: all have all that they need; 2: give up.
  std::int32_t ran_out = 0;  ///< Whoever makes it 1 says why.
  // NOLINTNEXTLINE(modernize-avoid-c-arrays): std::array's functions are the host's alone.
  std::uint32_t sms[kSmsMax / 32] = {};  ///< A bit for each SM with a CTA of the launch.
};

/// One launch. A kernel that does not meet peers has no bit in `peers`.
struct SpinArguments {
  LaunchRecord* record = nullptr;      ///< Pinned.
  LaunchCounters* counters = nullptr;  ///< Of its GPU.
  std::int32_t* is_over = nullptr;     ///< Pinned; read by all, raised by who runs out.
  std::int32_t* residents = nullptr;   ///< Pinned, [ranks]: 1 once all CTAs of that rank's are.
  std::uint64_t peers = 0;             ///< A bit for each rank of the group, its own too.
  std::int32_t rank = 0;
  std::int32_t launch = 0;
  std::int32_t* exclusive = nullptr;  ///< Of its GPU: launch + 1 of who holds it, 0 if none.
  bool is_plain = false;
  std::int64_t duration_ns = 0;
  std::int64_t limit_ns = 0;
};

struct SpinShape {
  std::int32_t ctas = 1;
  std::int32_t threads = 1;
  std::int32_t smem_bytes = 0;  ///< Of a CTA.
  bool is_cooperative = false;
};

/// Lets the spinning kernel have all of an SM's shared memory, on the current device.
void prepare_spin();

/// CTAs of that shape that an empty SM of the current device holds; 0 if not one.
[[nodiscard]] int spin_ctas_per_sm(const SpinShape& shape);

void launch_spin(const SpinArguments& arguments, const SpinShape& shape, cudaStream_t stream);

/// Writes the GPU's %globaltimer to pinned memory.
void launch_clock_reading(std::int64_t* now_ns, cudaStream_t stream);

}  // namespace eplb::gpu::program
