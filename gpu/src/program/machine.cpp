#include "machine.hpp"

#include <algorithm>
#include <utility>

#include "eplb/gpu/error.hpp"

namespace eplb::gpu::program {
namespace {

constexpr std::int64_t kCopyPartBytes = std::int64_t{64} << 20;

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

/// Room for the largest part of a copy.
std::size_t copy_bytes_of(const Script& script) {
  std::int64_t bytes = 1;
  for (const ScriptThread& thread : script.threads) {
    for (const Instruction& instruction : thread.code) {
      bytes = std::max(bytes, std::min(instruction.bytes, kCopyPartBytes));
    }
  }
  return at(bytes);
}

}  // namespace

DeviceGuard::DeviceGuard(int device) {
  EPLB_CUDA(cudaGetDevice(&before_));
  EPLB_CUDA(cudaSetDevice(device));
}

DeviceGuard::~DeviceGuard() {
  report_failed_release(cudaSetDevice(before_), "cudaSetDevice");
}

SpinShape shape_of(const Kernel& kernel) {
  return {.ctas = kernel.ctas,
          .threads = kernel.threads,
          .smem_bytes = kernel.smem_kb * 1024,
          .is_cooperative = is_gang(kernel.kind)};
}

Machine::Machine(const Script& script, std::vector<std::int32_t> devices, std::int64_t limit_ns)
    : script_(script),
      devices_(std::move(devices)),
      limit_ns_(limit_ns),
      copy_bytes_(copy_bytes_of(script)),
      records_(kLaunchesMax),
      residents_(script.groups.size() * kLaunchesMax * at(script.ranks)),
      is_over_(1),
      host_copy_(copy_bytes_) {
  for (const std::int32_t device : devices_) {
    add_device(device);
  }
  enable_peer_access();
  streams_.reserve(script.streams.size());
  for (const OwnedName& stream : script.streams) {
    const DeviceGuard guard(devices_[at(stream.rank)]);
    streams_.emplace_back();
  }
  events_.reserve(script.events.size());
  for (const OwnedName& event : script.events) {
    const DeviceGuard guard(devices_[at(event.rank)]);
    events_.emplace_back();
  }
  for (std::int32_t rank = 0; rank < script.ranks; ++rank) {
    warm_up(rank);
  }
}

void Machine::add_device(std::int32_t device) {
  const auto is_same = [&](const DeviceMemory& memory) { return memory.device == device; };
  if (std::any_of(memories_.begin(), memories_.end(), is_same)) {
    return;
  }
  const DeviceGuard guard(device);
  memories_.push_back({.device = device,
                       .counters = DeviceBuffer<LaunchCounters>(kLaunchesMax),
                       .exclusives = DeviceBuffer<std::int32_t>(script_.exclusives.size()),
                       .copied = DeviceBuffer<std::byte>(copy_bytes_),
                       .arriving = DeviceBuffer<std::byte>(copy_bytes_)});
  const Stream stream;
  memories_.back().counters.fill_bytes(0, stream.get());
  if (!script_.exclusives.empty()) {
    memories_.back().exclusives.fill_bytes(0, stream.get());
  }
  stream.synchronize();
}

void Machine::enable_peer_access() const {
  for (const DeviceMemory& from : memories_) {
    const DeviceGuard guard(from.device);
    for (const DeviceMemory& to : memories_) {
      int can = 0;
      if (from.device != to.device) {
        EPLB_CUDA(cudaDeviceCanAccessPeer(&can, from.device, to.device));
      }
      if (can != 0 &&
          cudaDeviceEnablePeerAccess(to.device, 0) == cudaErrorPeerAccessAlreadyEnabled) {
        static_cast<void>(cudaGetLastError());
      }
    }
  }
}

/// Every kind of launch and copy once, so that none is new to the driver in the run.
void Machine::warm_up(std::int32_t rank) const {
  const DeviceGuard guard(devices_[at(rank)]);
  prepare_spin();
  const DeviceBuffer<LaunchCounters> counters(2);
  const PinnedBuffer<LaunchRecord> records(2);
  const PinnedBuffer<std::int64_t> clock(1);
  const Stream stream;
  counters.fill_bytes(0, stream.get());
  for (const bool is_cooperative : {false, true}) {
    const std::size_t launch = is_cooperative ? 1 : 0;
    launch_spin({.record = records.data() + launch,
                 .counters = counters.data() + launch,
                 .is_over = is_over_.data(),
                 .limit_ns = limit_ns_},
                {.is_cooperative = is_cooperative}, stream.get());
  }
  launch_clock_reading(clock.data(), stream.get());
  for (const DeviceMemory& to : memories_) {
    EPLB_CUDA(cudaMemcpyPeerAsync(to.arriving.data(), to.device, memory_of(rank).copied.data(),
                                  devices_[at(rank)], 1, stream.get()));
  }
  EPLB_CUDA(cudaMemcpyAsync(host_copy_.data(), memory_of(rank).copied.data(), 1,
                            cudaMemcpyDeviceToHost, stream.get()));
  stream.synchronize();
}

const Machine::DeviceMemory& Machine::memory_of(std::int32_t rank) const {
  return *std::find_if(memories_.begin(), memories_.end(), [&](const DeviceMemory& memory) {
    return memory.device == devices_[at(rank)];
  });
}

const Stream& Machine::stream_of(const Instruction& instruction) const {
  return streams_[at(instruction.stream)];
}

void Machine::enqueue(const IssuedOp& op) {
  const Instruction& instruction = script_.threads[at(op.thread)].code[at(op.instruction)];
  cudaStream_t stream = stream_of(instruction).get();
  switch (instruction.code) {
    case Code::kLaunch:
      enqueue_kernel(op, instruction);
      break;
    case Code::kCopy:
      enqueue_copy(op.rank, instruction);
      break;
    case Code::kRecord:
      events_[at(instruction.object)].record(stream);
      break;
    default:
      events_[at(instruction.object)].block(stream);
      break;
  }
}

void Machine::enqueue_kernel(const IssuedOp& op, const Instruction& instruction) {
  const Kernel& kernel = script_.kernels[at(instruction.object)];
  const DeviceMemory& memory = memory_of(op.rank);
  SpinArguments arguments{.record = records_.data() + op.launch,
                          .counters = memory.counters.data() + op.launch,
                          .is_over = is_over_.data(),
                          .rank = op.rank,
                          .launch = op.launch,
                          .is_plain = kernel.kind == KernelKind::kPlain,
                          .duration_ns = kernel.duration_ns,
                          .limit_ns = limit_ns_};
  if (kernel.group != kNone) {
    const std::size_t meeting = at(kernel.group) * kLaunchesMax + at(op.meeting);
    arguments.residents = residents_.data() + meeting * at(script_.ranks);
    for (const std::int32_t rank : script_.groups[at(kernel.group)].ranks) {
      arguments.peers |= std::uint64_t{1} << static_cast<unsigned>(rank);
    }
  }
  if (kernel.exclusive != kNone) {
    arguments.exclusive = memory.exclusives.data() + kernel.exclusive;
  }
  launch_spin(arguments, shape_of(kernel), stream_of(instruction).get());
}

void Machine::enqueue_copy(std::int32_t rank, const Instruction& copy) const {
  const DeviceMemory& from = memory_of(rank);
  const DeviceMemory& to = copy.to == kNone ? from : memory_of(copy.to);
  cudaStream_t stream = stream_of(copy).get();
  for (std::int64_t left = copy.bytes; left > 0; left -= kCopyPartBytes) {
    const std::size_t bytes = at(std::min(left, kCopyPartBytes));
    // Within a GPU the driver may copy with a kernel; to the host it takes an engine.
    if (to.device == from.device) {
      EPLB_CUDA(cudaMemcpyAsync(host_copy_.data(), from.copied.data(), bytes,
                                cudaMemcpyDeviceToHost, stream));
    } else {
      EPLB_CUDA(cudaMemcpyPeerAsync(to.arriving.data(), to.device, from.copied.data(), from.device,
                                    bytes, stream));
    }
  }
}

bool Machine::is_synchronized(std::int32_t rank, const Instruction& sync) const {
  if (sync.code == Code::kSyncEvent) {
    return events_[at(sync.object)].is_past();
  }
  for (std::size_t stream = 0; stream < streams_.size(); ++stream) {
    const bool is_meant = sync.code == Code::kSyncDevice
                              ? script_.streams[stream].rank == rank
                              : static_cast<std::size_t>(sync.stream) == stream;
    if (is_meant) {
      const cudaError_t status = cudaStreamQuery(streams_[stream].get());
      if (status == cudaErrorNotReady) {
        return false;
      }
      EPLB_CUDA(status);
    }
  }
  return true;
}

bool Machine::is_idle() const {
  const Instruction all{.code = Code::kSyncDevice};
  for (std::int32_t rank = 0; rank < script_.ranks; ++rank) {
    if (!is_synchronized(rank, all)) {
      return false;
    }
  }
  return true;
}

std::vector<std::int64_t> Machine::clock_offsets_ns(const Board& board) const {
  constexpr int kReadings = 5;
  std::vector<std::int64_t> offsets_ns;
  offsets_ns.reserve(devices_.size());
  for (const std::int32_t device : devices_) {
    const DeviceGuard guard(device);
    const Stream stream;
    const PinnedBuffer<std::int64_t> clock(1);
    std::int64_t offset_ns = 0;
    std::int64_t error_ns_min = INT64_MAX;
    for (int reading = 0; reading < kReadings; ++reading) {
      const std::int64_t begin_ns = board.now_ns();
      launch_clock_reading(clock.data(), stream.get());
      stream.synchronize();
      const std::int64_t end_ns = board.now_ns();
      if (end_ns - begin_ns < error_ns_min) {
        error_ns_min = end_ns - begin_ns;
        offset_ns = begin_ns + (end_ns - begin_ns) / 2 - *clock.data();
      }
    }
    offsets_ns.push_back(offset_ns);
  }
  return offsets_ns;
}

}  // namespace eplb::gpu::program
