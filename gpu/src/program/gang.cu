#include <cstddef>
#include <stdexcept>
#include <string>

#include "eplb/gpu/error.hpp"
#include "eplb/gpu/kernel_resources.hpp"
#include "eplb/gpu/program/gang.hpp"
#include "eplb/gpu/stream.hpp"
#include "spin.cuh"

namespace eplb::gpu::program {
namespace {

constexpr std::int64_t kLimitNsMax = 100'000'000'000;
constexpr int kThreadsMax = 1024;

struct GangArguments {
  unsigned long long* barrier;
  GangReport* report;
  std::int32_t barrier_count;
  std::int64_t work_ns;
  std::int64_t limit_ns;
};

/// The count never falls: the barrier of a CTA is passed when as many have come as would fill it.
__device__ bool pass_barrier(const GangArguments& arguments, std::int64_t deadline_ns) {
  const unsigned long long grid = gridDim.x;
  __threadfence();
  const unsigned long long came = atomicAdd(arguments.barrier, 1ULL);
  const unsigned long long full = (came / grid + 1) * grid;
  const auto is_full = [&] {
    return *static_cast<volatile unsigned long long*>(arguments.barrier) >= full ||
           load_now(&arguments.report->ran_out) != 0;
  };
  if (!spin_until(is_full, deadline_ns)) {
    const unsigned long long missing = full - atomicAdd(arguments.barrier, 0ULL);
    arguments.report->arrived_count = static_cast<std::int32_t>(grid - missing);
    publish(&arguments.report->ran_out, 1);
  }
  __threadfence();
  return load_now(&arguments.report->ran_out) == 0;
}

__device__ void run_gang(const GangArguments& arguments) {
  const std::int64_t deadline_ns = device::now_ns() + arguments.limit_ns;
  for (std::int32_t barrier = 0; barrier < arguments.barrier_count; ++barrier) {
    const std::int64_t worked_ns = device::now_ns() + arguments.work_ns;
    spin_until([] { return false; }, worked_ns);
    if (!pass_barrier(arguments, deadline_ns + (barrier + 1) * arguments.work_ns)) {
      return;
    }
  }
  if (blockIdx.x == 0) {
    ++arguments.report->ended_count;
    __threadfence_system();
  }
}

__global__ __launch_bounds__(kThreadsMax) void gang_kernel(
    const __grid_constant__ GangArguments arguments) {
  if (threadIdx.x == 0 && load_now(&arguments.report->ran_out) == 0) {
    run_gang(arguments);
  }
  __syncthreads();
}

std::size_t smem_bytes_of(const GangOptions& options) {
  return static_cast<std::size_t>(options.smem_kb) * 1024;
}

void check_options(const GangOptions& options) {
  if (options.threads < 1 || options.threads > kThreadsMax || options.ctas < 0 ||
      options.smem_kb < 0 || options.barrier_count < 1 || options.work_ns < 0 ||
      options.limit_ns < 1 || options.limit_ns > kLimitNsMax) {
    throw std::invalid_argument(
        "a gang takes 1 to 1024 threads, no negative CTAs, shared memory or work, at least one "
        "barrier, and a limit of 1 ns to 100 s");
  }
}

/// The options with the number of CTAs filled in.
GangOptions resolve(GangOptions options) {
  check_options(options);
  int device = 0;
  int smem_bytes_max = 0;
  EPLB_CUDA(cudaGetDevice(&device));
  EPLB_CUDA(
      cudaDeviceGetAttribute(&smem_bytes_max, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  EPLB_CUDA(cudaFuncSetAttribute(gang_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 smem_bytes_max));
  int ctas_per_sm = 0;
  if (smem_bytes_of(options) <= static_cast<std::size_t>(smem_bytes_max)) {
    EPLB_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &ctas_per_sm, gang_kernel, options.threads, smem_bytes_of(options)));
  }
  const int sm_count = multiprocessor_count();
  options.ctas = options.ctas == 0 ? sm_count : options.ctas;
  if (options.ctas > ctas_per_sm * sm_count) {
    throw std::invalid_argument("a gang of " + std::to_string(options.ctas) + " CTAs: at most " +
                                std::to_string(ctas_per_sm * sm_count) +
                                " of them can be resident together on this device");
  }
  return options;
}

}  // namespace

// On a stream of its own: another thread may be capturing, and may not be disturbed.
Gang::Gang(const GangOptions& options) : options_(resolve(options)), barrier_(1), report_(1) {
  const Stream stream;
  barrier_.fill_bytes(0, stream.get());
  cudaFuncAttributes attributes{};
  EPLB_CUDA(cudaFuncGetAttributes(&attributes, gang_kernel));
  stream.synchronize();
}

void Gang::launch(cudaStream_t stream) const {
  const GangArguments arguments{
      .barrier = reinterpret_cast<unsigned long long*>(barrier_.data()),
      .report = report_.data(),
      .barrier_count = options_.barrier_count,
      .work_ns = options_.work_ns,
      .limit_ns = options_.limit_ns,
  };
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeCooperative;
  attribute.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(options_.ctas));
  config.blockDim = dim3(static_cast<unsigned>(options_.threads));
  config.dynamicSmemBytes = smem_bytes_of(options_);
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  EPLB_CUDA(cudaLaunchKernelEx(&config, gang_kernel, arguments));
}

GangReport Gang::report() const {
  const volatile GangReport& report = *report_.data();
  return {.ended_count = report.ended_count,
          .ran_out = report.ran_out,
          .arrived_count = report.arrived_count};
}

bool launch_gang(const GangOptions& options, cudaStream_t stream) {
  const Gang gang(options);
  gang.launch(stream);
  EPLB_CUDA(cudaStreamSynchronize(stream));
  return gang.report().ended_count == 1;
}

}  // namespace eplb::gpu::program
