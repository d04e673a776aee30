#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "eplb/gpu/device/bounded_wait.cuh"
#include "eplb/gpu/error.hpp"
#include "eplb/gpu/memory/expert_content.hpp"
#include "eplb/gpu/memory/row_digest.hpp"
#include "eplb/gpu/run/decode_kernels.hpp"

namespace eplb::gpu {
namespace {

constexpr unsigned kBlockSize = 256;

/// Of an expert layer: with four loads of 16 bytes a thread, 64 KB are under way on each
/// multiprocessor, what its share of the memory's bandwidth takes.
constexpr unsigned kServeThreads = 1024;

__device__ std::uint64_t draw_bits(const LogitDraw& draw, std::int64_t step, std::int64_t index) {
  const std::uint64_t place = mixed(draw.seed + (std::uint64_t{draw.rank} << 32U) + draw.layer);
  return mixed(mixed(place + static_cast<std::uint64_t>(step)) + static_cast<std::uint64_t>(index));
}

/// Of the upper 24 bits, in (0, 1).
__device__ float fraction_of(std::uint64_t bits) {
  return (static_cast<float>(bits >> 40U) + 0.5F) * 0x1p-24F;
}

__global__ void draw_kernel(const __grid_constant__ LogitDraw draw) {
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * kBlockSize + threadIdx.x;
  if (index >= static_cast<std::int64_t>(draw.row_count) * draw.expert_count) {
    return;
  }
  const auto expert = static_cast<std::int32_t>(index % draw.expert_count);
  const float fraction = fraction_of(draw_bits(draw, *draw.step, index));
  draw.logits[index] = draw.log_popularities[expert] - __logf(-__logf(fraction));
}

__device__ std::int64_t tally_offset(const PickTallies& shape, std::int64_t step,
                                     std::int32_t layer) {
  return ((step & 1) * shape.layer_count + layer) * shape.slot_count;
}

__global__ void tally_kernel(const __grid_constant__ TallyArguments arguments) {
  extern __shared__ std::int32_t counts[];
  const std::int32_t slot_count = arguments.shape.slot_count;
  for (std::int32_t slot = threadIdx.x; slot < slot_count; slot += blockDim.x) {
    counts[slot] = 0;
  }
  __syncthreads();
  for (std::int32_t pick = threadIdx.x; pick < arguments.pick_count; pick += blockDim.x) {
    const std::int64_t slot = arguments.slot_ids[pick];
    if (slot >= 0 && slot < slot_count) {
      atomicAdd(&counts[slot], 1);
    }
  }
  __syncthreads();
  std::int32_t* tally =
      arguments.tallies + tally_offset(arguments.shape, *arguments.step, arguments.layer);
  for (std::int32_t slot = threadIdx.x; slot < slot_count; slot += blockDim.x) {
    tally[slot] = counts[slot];
  }
}

struct ServedTensors {
  WeightTensor tensors[kTensorsMax];
  std::int32_t count;
};

/// Rows that arrived at each of this rank's slots in the step before.
__device__ void sum_arrivals(const LayerService& service, std::int32_t* arrivals) {
  const std::int64_t offset = tally_offset(service.shape, *service.step + 1, service.layer) +
                              static_cast<std::int64_t>(service.rank) * service.slots_per_rank;
  for (std::int32_t slot = threadIdx.x; slot < service.slots_per_rank; slot += blockDim.x) {
    std::int32_t rows = 0;
    for (std::int32_t rank = 0; rank < service.rank_count; ++rank) {
      rows += __ldcv(service.tallies[rank] + offset + slot);
    }
    arrivals[slot] = rows;
  }
}

/// Reads a slot's weights, the grid's blocks side by side. What it returns depends on every word
/// read, so that none is left out.
__device__ std::uint32_t read_weights(const ServedTensors& tensors, std::int32_t slot) {
  std::uint32_t folded = 0;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int32_t index = 0; index < tensors.count; ++index) {
    const WeightTensor& tensor = tensors.tensors[index];
    const std::byte* row = tensor.base + slot * tensor.row_stride_bytes;
    if (reinterpret_cast<std::uintptr_t>(row) % sizeof(uint4) != 0) {
      continue;  // Too small to be felt, or an engine's odd layout: left out of the traffic.
    }
    const std::int64_t vector_count = tensor.row_bytes / static_cast<std::int64_t>(sizeof(uint4));
    const auto* vectors = reinterpret_cast<const uint4*>(row);
#pragma unroll 4
    for (std::int64_t vector = first; vector < vector_count; vector += stride) {
      const uint4 words = __ldcs(vectors + vector);
      folded ^= words.x ^ words.y ^ words.z ^ words.w;
    }
  }
  return folded;
}

/// A whole word of a slot's tensors that the draw points at, checked against the expert's.
__device__ bool is_right(const LayerService& service, const ServedTensors& tensors,
                         std::int32_t local_slot, std::int32_t expert, std::uint64_t draw) {
  const auto tensor_index = static_cast<std::int32_t>(draw % static_cast<unsigned>(tensors.count));
  const WeightTensor& tensor = tensors.tensors[tensor_index];
  const std::int64_t word_count = tensor.row_bytes / 8;
  if (word_count == 0) {
    return true;
  }
  const auto word =
      static_cast<std::int64_t>((draw >> 16U) % static_cast<std::uint64_t>(word_count));
  const std::byte* at = tensor.base + local_slot * tensor.row_stride_bytes + 8 * word;
  std::uint64_t found = 0;
  for (int byte = 7; byte >= 0; --byte) {
    found = found << 8U | static_cast<std::uint64_t>(at[byte]);
  }
  const ContentKey key{.layer = static_cast<std::uint32_t>(service.layer),
                       .expert = static_cast<std::uint32_t>(expert),
                       .tensor = static_cast<std::uint32_t>(tensor_index)};
  return found == content_word(content_seed(key), static_cast<std::uint64_t>(word));
}

/// Each thread checks words for the picks that fall to it. All of the block must call.
__device__ void check_picks(const LayerService& service, const ServedTensors& tensors) {
  __shared__ unsigned checked_by_block;
  if (threadIdx.x == 0) {
    checked_by_block = 0;
  }
  __syncthreads();
  const std::int64_t check_count =
      static_cast<std::int64_t>(service.pick_count) * service.words_per_pick;
  unsigned checked = 0;
  for (std::int64_t check = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       check < check_count; check += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const std::int64_t pick = check / service.words_per_pick;
    const std::int64_t slot = service.slot_ids[pick];
    const std::int64_t local =
        slot - static_cast<std::int64_t>(service.rank) * service.slots_per_rank;
    if (slot < 0 || local < 0 || local >= service.slots_per_rank) {
      continue;
    }
    ++checked;
    const std::uint64_t draw =
        mixed(mixed(static_cast<std::uint64_t>(*service.step)) + static_cast<std::uint64_t>(check));
    const auto expert = static_cast<std::int32_t>(service.logical_ids[pick]);
    const auto local_slot = static_cast<std::int32_t>(local);
    if (!is_right(service, tensors, local_slot, expert, draw)) {
      if (atomicAdd(&service.report->words_wrong, 1ULL) == 0) {
        service.report->wrong_layer = service.layer;
        service.report->wrong_expert = expert;
        service.report->wrong_slot = local_slot;
      }
    }
  }
  atomicAdd(&checked_by_block, checked);
  __syncthreads();
  if (threadIdx.x == 0 && checked_by_block > 0) {
    atomicAdd(&service.report->words_checked, static_cast<unsigned long long>(checked_by_block));
  }
}

__global__ void __launch_bounds__(kServeThreads)
    serve_kernel(const __grid_constant__ LayerService service,
                 const __grid_constant__ ServedTensors tensors) {
  extern __shared__ std::int32_t arrivals[];
  const std::int64_t begin_ns = device::now_ns();
  if (service.late_step != nullptr && blockIdx.x == 0 && threadIdx.x == 0) {
    *static_cast<volatile std::int64_t*>(service.late_step) = *service.step;
  }
  sum_arrivals(service, arrivals);
  __syncthreads();
  std::int64_t rows = 0;
  std::uint32_t folded = 0;
  for (std::int32_t slot = 0; slot < service.slots_per_rank; ++slot) {
    rows += arrivals[slot];
    if (arrivals[slot] > 0) {
      folded ^= read_weights(tensors, slot);
    }
  }
  check_picks(service, tensors);
  if (folded == 0x9E3779B9U && rows < 0) {
    service.report->wrong_slot = 0;  // Never: keeps the reads.
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    atomicAdd(&service.report->rows, static_cast<unsigned long long>(rows));
    device::wait_until(begin_ns,
                       llrint(service.start_ns + service.ns_per_row * static_cast<double>(rows)));
  }
}

__global__ void time_kernel(std::int64_t duration_ns) {
  device::wait_until(device::now_ns(), duration_ns);
}

}  // namespace

void draw_logits(const LogitDraw& draw, cudaStream_t stream) {
  const std::int64_t logit_count = static_cast<std::int64_t>(draw.row_count) * draw.expert_count;
  if (logit_count == 0) {
    return;
  }
  const auto block_count = static_cast<unsigned>((logit_count + kBlockSize - 1) / kBlockSize);
  draw_kernel<<<block_count, kBlockSize, 0, stream>>>(draw);
  EPLB_CUDA(cudaGetLastError());
}

void tally_picks(const TallyArguments& arguments, cudaStream_t stream) {
  constexpr unsigned kTallyThreads = 1024;
  const std::size_t shared_bytes =
      static_cast<std::size_t>(arguments.shape.slot_count) * sizeof(std::int32_t);
  tally_kernel<<<1, kTallyThreads, shared_bytes, stream>>>(arguments);
  EPLB_CUDA(cudaGetLastError());
}

void serve_layer(const LayerService& service, std::span<const WeightTensor> tensors,
                 cudaStream_t stream) {
  if (tensors.empty() || tensors.size() > kTensorsMax || service.block_count < 1) {
    throw std::invalid_argument("serve_layer: tensors or blocks out of range");
  }
  ServedTensors served{};
  std::ranges::copy(tensors, served.tensors);
  served.count = static_cast<std::int32_t>(tensors.size());
  const std::size_t shared_bytes =
      static_cast<std::size_t>(service.slots_per_rank) * sizeof(std::int32_t);
  serve_kernel<<<static_cast<unsigned>(service.block_count), kServeThreads, shared_bytes, stream>>>(
      service, served);
  EPLB_CUDA(cudaGetLastError());
}

void take_time(double duration_ns, cudaStream_t stream) {
  if (duration_ns > 0) {
    time_kernel<<<1, 1, 0, stream>>>(std::llrint(duration_ns));
    EPLB_CUDA(cudaGetLastError());
  }
}

}  // namespace eplb::gpu
