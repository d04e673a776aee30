#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "board.hpp"
#include "eplb/gpu/buffer.hpp"
#include "eplb/gpu/stream.hpp"
#include "launch_record.hpp"
#include "script.hpp"
#include "spin_kernel.hpp"

namespace eplb::gpu::program {

inline constexpr std::size_t kLaunchesMax = 8192;  ///< Of a run; a program is left after as many.

/// Makes a device current, and the one before it again.
class DeviceGuard {
 public:
  explicit DeviceGuard(int device);
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;
  DeviceGuard(DeviceGuard&&) = delete;
  DeviceGuard& operator=(DeviceGuard&&) = delete;
  ~DeviceGuard();

 private:
  int before_ = 0;
};

/// The GPUs' side of a run: streams, events and memory of all ranks.
///
/// NOTE [nothing waits while kernels spin] Allocations, the loading of kernels, and the first copy
/// between two GPUs wait for what runs there, which may wait for the host. So all of them happen
/// when a machine is made, and nothing is freed before all streams are idle.
class Machine {
 public:
  /// `script` outlives it. `devices` has the ordinal of each rank's.
  Machine(const Script& script, std::vector<std::int32_t> devices, std::int64_t limit_ns);

  [[nodiscard]] std::int32_t& is_over() const { return *is_over_.data(); }

  [[nodiscard]] const std::vector<std::int32_t>& devices() const { return devices_; }

  /// Enqueues what an operation does on its stream. The rank's device must be current.
  void enqueue(const IssuedOp& op);

  /// Whether what a sync of a rank waits for is done.
  [[nodiscard]] bool is_synchronized(std::int32_t rank, const Instruction& sync) const;
  [[nodiscard]] bool is_idle() const;

  /// What to add to a GPU's clock to have the board's, by rank. The error is half of a launch with
  /// its wait, some microseconds.
  [[nodiscard]] std::vector<std::int64_t> clock_offsets_ns(const Board& board) const;

  /// Complete when all is idle.
  [[nodiscard]] std::span<const LaunchRecord> records() const { return records_.span(); }

 private:
  /// What a GPU has for the ranks on it.
  struct DeviceMemory {
    std::int32_t device = 0;
    DeviceBuffer<LaunchCounters> counters;
    DeviceBuffer<std::int32_t> exclusives;
    DeviceBuffer<std::byte> copied;    ///< Copies leave from here.
    DeviceBuffer<std::byte> arriving;  ///< And arrive here.
  };

  void add_device(std::int32_t device);
  void warm_up(std::int32_t rank) const;
  void enable_peer_access() const;
  [[nodiscard]] const DeviceMemory& memory_of(std::int32_t rank) const;
  [[nodiscard]] const Stream& stream_of(const Instruction& instruction) const;
  void enqueue_kernel(const IssuedOp& op, const Instruction& instruction);
  void enqueue_copy(std::int32_t rank, const Instruction& copy) const;

  const Script& script_;
  std::vector<std::int32_t> devices_;
  std::int64_t limit_ns_;
  std::size_t copy_bytes_;  ///< Longer copies go in parts.
  PinnedBuffer<LaunchRecord> records_;
  PinnedBuffer<std::int32_t> residents_;  ///< [group, meeting, rank]
  PinnedBuffer<std::int32_t> is_over_;
  PinnedBuffer<std::byte> host_copy_;
  std::vector<DeviceMemory> memories_;
  std::vector<Stream> streams_;
  std::vector<Event> events_;
};

/// What a kernel of a script is to the device that is current.
[[nodiscard]] SpinShape shape_of(const Kernel& kernel);

}  // namespace eplb::gpu::program
