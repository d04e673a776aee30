#include <array>
#include <cstddef>

#include "eplb/gpu/error.hpp"
#include "spin.cuh"
#include "spin_kernel.hpp"

namespace eplb::gpu::program {
namespace {

constexpr std::int32_t kGo = 1;
constexpr std::int32_t kGiveUp = 2;
/// Two CTAs of the most threads fill an SM, so that a thread takes at most 32 registers and never
/// keeps a CTA out that its threads would let in.
constexpr int kThreadsMax = 1024;
constexpr int kCtasOfMostThreads = 2;

/// The first CTA whose limit runs out says for what the launch waited, and that the run is over.
__device__ void run_out(const SpinArguments& arguments, SpinWait wait, std::int32_t waited_for) {
  LaunchCounters& counters = *arguments.counters;
  if (atomicExch(&counters.ran_out, 1) == 0) {
    LaunchRecord& record = *arguments.record;
    record.waited = wait;
    record.waited_for = waited_for;
    record.resident_ctas = atomicAdd(&counters.arrived, 0);
    std::int32_t sms = 0;
    for (std::uint32_t& word : counters.sms) {
      sms += __popc(atomicOr(&word, 0U));
    }
    record.resident_sms = sms;
    record.ran_out_ns = device::now_ns();
    publish(arguments.is_over, 1);
  }
  atomicExch(&counters.go, kGiveUp);
}

/// A launch takes what it needs alone once and gives it back as a whole.
__device__ bool take_exclusive(const SpinArguments& arguments, std::int64_t deadline_ns) {
  if (arguments.exclusive == nullptr) {
    return true;
  }
  const std::int32_t own = arguments.launch + 1;
  std::int32_t holder = 0;
  const bool taken = spin_until(
      [&] {
        // What others gave up when the run was over is not taken, so that they can be named.
        if (load_now(arguments.is_over) != 0) {
          return false;
        }
        holder = atomicCAS(arguments.exclusive, 0, own);
        return holder == 0 || holder == own;
      },
      deadline_ns);
  if (!taken) {
    run_out(arguments, SpinWait::kExclusive, holder - 1);
  }
  return taken;
}

/// What the last CTA to come does for its launch.
__device__ void lead(const SpinArguments& arguments, std::int64_t deadline_ns) {
  LaunchRecord& record = *arguments.record;
  if (!take_exclusive(arguments, deadline_ns)) {
    return;
  }
  record.resident_ns = device::now_ns();
  if (arguments.peers != 0) {
    publish(&arguments.residents[arguments.rank], 1);
  }
  for (std::int32_t rank = 0; rank < kRanksMax; ++rank) {
    const bool is_peer = (arguments.peers >> rank & 1U) != 0;
    const auto is_resident = [&] {
      return load_now(&arguments.residents[rank]) != 0 && load_now(arguments.is_over) == 0;
    };
    if (is_peer && !spin_until(is_resident, deadline_ns)) {
      run_out(arguments, SpinWait::kPeer, rank);
      return;
    }
  }
  atomicCAS(&arguments.counters->go, 0, kGo);
}

/// Whether all CTAs of the launch, and of its peers, were resident together.
__device__ bool meet(const SpinArguments& arguments, std::int32_t arrived, std::int64_t begun_ns) {
  LaunchCounters& counters = *arguments.counters;
  // The leader runs out first, since it alone knows for whom it waits.
  const std::int64_t leader_limit_ns = arguments.limit_ns - arguments.limit_ns / 8;
  if (arrived == static_cast<std::int32_t>(gridDim.x)) {
    lead(arguments, begun_ns + leader_limit_ns);
  }
  const bool told =
      spin_until([&] { return load_now(&counters.go) != 0; }, begun_ns + arguments.limit_ns);
  if (!told) {
    run_out(arguments, SpinWait::kRoom, -1);
  }
  return told && load_now(&counters.go) == kGo;
}

/// The last CTA to leave ends the launch. One that ran out keeps what it held: whoever waited for
/// that has to find its holder when it is asked, which may be before it hears that the run is over.
__device__ void depart(const SpinArguments& arguments) {
  LaunchCounters& counters = *arguments.counters;
  if (atomicAdd(&counters.departed, 1) + 1 == static_cast<std::int32_t>(gridDim.x)) {
    arguments.record->ended_ns = device::now_ns();
    const bool gave_up = load_now(&counters.ran_out) != 0;
    if (arguments.exclusive != nullptr && !gave_up) {
      atomicCAS(arguments.exclusive, arguments.launch + 1, 0);
    }
    __threadfence_system();
  }
}

__device__ void spin(const SpinArguments& arguments) {
  LaunchCounters& counters = *arguments.counters;
  if (load_now(arguments.is_over) != 0) {
    arguments.record->kept_out = 1;
    depart(arguments);
    return;
  }
  std::uint32_t sm = 0;
  asm("mov.u32 %0, %smid;" : "=r"(sm));
  atomicOr(&counters.sms[sm % kSmsMax / 32], 1U << sm % 32);
  const std::int64_t now_ns = device::now_ns();
  const auto begun_ns = static_cast<std::int64_t>(
      atomicCAS(&counters.begun_ns, 0ULL, static_cast<unsigned long long>(now_ns)));
  if (begun_ns == 0) {
    arguments.record->begun_ns = now_ns;
  }
  const std::int32_t arrived = atomicAdd(&counters.arrived, 1) + 1;
  const bool has_all = arguments.is_plain
                           ? take_exclusive(arguments, now_ns + arguments.limit_ns)
                           : meet(arguments, arrived, begun_ns == 0 ? now_ns : begun_ns);
  if (has_all) {
    const std::int64_t end_ns = device::now_ns() + arguments.duration_ns;
    spin_until([] { return false; }, end_ns);
  }
  depart(arguments);
}

/// One thread of a CTA spins; the others stand at the barrier, so that all stay resident.
__global__ __launch_bounds__(kThreadsMax, kCtasOfMostThreads) void spin_kernel(
    const __grid_constant__ SpinArguments arguments) {
  if (threadIdx.x == 0) {
    spin(arguments);
  }
  __syncthreads();
}

__global__ void clock_kernel(std::int64_t* now_ns) {
  *now_ns = device::now_ns();
  __threadfence_system();
}

}  // namespace

void prepare_spin() {
  int device = 0;
  int smem_bytes_max = 0;
  EPLB_CUDA(cudaGetDevice(&device));
  EPLB_CUDA(
      cudaDeviceGetAttribute(&smem_bytes_max, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  EPLB_CUDA(cudaFuncSetAttribute(spin_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 smem_bytes_max));
  // One division of an SM's memory for all launches: changing it would wait for an idle SM.
  EPLB_CUDA(cudaFuncSetAttribute(spin_kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                 cudaSharedmemCarveoutMaxShared));
}

int spin_ctas_per_sm(const SpinShape& shape) {
  int device = 0;
  int smem_bytes_max = 0;
  EPLB_CUDA(cudaGetDevice(&device));
  EPLB_CUDA(
      cudaDeviceGetAttribute(&smem_bytes_max, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  if (shape.smem_bytes > smem_bytes_max) {
    return 0;
  }
  int ctas = 0;
  EPLB_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &ctas, spin_kernel, shape.threads, static_cast<std::size_t>(shape.smem_bytes)));
  return ctas;
}

void launch_spin(const SpinArguments& arguments, const SpinShape& shape, cudaStream_t stream) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(shape.ctas));
  config.blockDim = dim3(static_cast<unsigned>(shape.threads));
  config.dynamicSmemBytes = static_cast<std::size_t>(shape.smem_bytes);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = shape.is_cooperative ? 1 : 0;
  EPLB_CUDA(cudaLaunchKernelEx(&config, spin_kernel, arguments));
}

void launch_clock_reading(std::int64_t* now_ns, cudaStream_t stream) {
  clock_kernel<<<1, 1, 0, stream>>>(now_ns);
  EPLB_CUDA(cudaGetLastError());
}

}  // namespace eplb::gpu::program
