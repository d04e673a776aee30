#include "eplb/core/replica_choice.hpp"
#include "eplb/gpu/error.hpp"
#include "eplb/gpu/map_update.hpp"

namespace eplb::gpu {
namespace {

constexpr std::uint32_t kBlockSize = 1024;

/// Slots of an expert, kNoSlot past the last.
struct SlotList {
  const std::int32_t* slots;
  std::int32_t count;

  [[nodiscard]] __device__ std::uint32_t entry(std::int32_t replica) const {
    return replica < count ? static_cast<std::uint32_t>(slots[replica]) : kNoSlot;
  }

  [[nodiscard]] __device__ std::uint32_t pair(std::int32_t replica) const {
    return entry(replica) | entry(replica + 1) << 16U;
  }

  [[nodiscard]] __device__ uint4 head() const {
    const auto replicas = ReplicaCount::of(static_cast<std::uint32_t>(count));
    return {replicas.reciprocal, replicas.count | entry(0) << 16U, pair(1), pair(3)};
  }

  /// Eight slots of the tail.
  [[nodiscard]] __device__ uint4 octet(std::int32_t first) const {
    return {pair(first), pair(first + 2), pair(first + 4), pair(first + 6)};
  }
};

/// Eight thresholds of an expert, of which the last replica has none: `units` are the cumulative
/// ones of its replicas.
__device__ uint4 threshold_octet(const std::int32_t* units, std::int32_t replica_count,
                                 std::int32_t first) {
  const auto entry = [&](std::int32_t replica) {
    return replica + 1 < replica_count ? static_cast<std::uint32_t>(units[replica]) : kNoThreshold;
  };
  const auto pair = [&](std::int32_t replica) {
    return entry(replica) | entry(replica + 1) << 16U;
  };
  return {pair(first), pair(first + 2), pair(first + 4), pair(first + 6)};
}

/// A block updates a layer. What is staged lies in host memory: a coalesced pass brings it over the
/// link once, side by side, where lookups in place would be trips over the link one after another.
/// Then each thread writes 16 bytes at a time, neighbours neighbouring ones.
__global__ void __launch_bounds__(kBlockSize)
    unpack_maps_kernel(const __grid_constant__ MapUpdateArguments arguments,
                       std::int32_t staged_width) {
  extern __shared__ std::int32_t staged[];
  const std::int32_t* source =
      arguments.staged + static_cast<std::int64_t>(blockIdx.x) * staged_width;
  for (auto index = static_cast<std::int32_t>(threadIdx.x); index < staged_width;
       index += kBlockSize) {
    staged[index] = source[index];
  }
  __syncthreads();
  const std::int32_t layer = staged[0];
  const std::int32_t* begins = staged + 1;
  const std::int32_t* slots = begins + arguments.expert_count + 1;

  const std::int32_t tail_vectors = arguments.tail_width / kHeadEntries;
  const auto slots_of = [&](std::int32_t expert) {
    return SlotList{slots + begins[expert], begins[expert + 1] - begins[expert]};
  };
  uint4* heads = reinterpret_cast<uint4*>(arguments.maps) +
                 static_cast<std::int64_t>(layer) * arguments.expert_count * (1 + tail_vectors);
  for (auto expert = static_cast<std::int32_t>(threadIdx.x); expert < arguments.expert_count;
       expert += kBlockSize) {
    heads[expert] = slots_of(expert).head();
  }
  uint4* tails = heads + arguments.expert_count;
  for (auto vector = static_cast<std::int32_t>(threadIdx.x);
       vector < arguments.expert_count * tail_vectors; vector += kBlockSize) {
    const std::int32_t expert = vector / tail_vectors;
    tails[vector] = slots_of(expert).octet(kHeadSlots + vector % tail_vectors * kHeadEntries);
  }
  if (arguments.thresholds == nullptr) {
    return;
  }
  const std::int32_t* units = slots + arguments.slot_count;
  const std::int32_t octets = arguments.threshold_width / kHeadEntries;
  uint4* thresholds = reinterpret_cast<uint4*>(arguments.thresholds) +
                      static_cast<std::int64_t>(layer) * arguments.expert_count * octets;
  for (auto octet = static_cast<std::int32_t>(threadIdx.x); octet < arguments.expert_count * octets;
       octet += kBlockSize) {
    const std::int32_t expert = octet / octets;
    thresholds[octet] = threshold_octet(units + begins[expert], slots_of(expert).count,
                                        octet % octets * kHeadEntries);
  }
}

}  // namespace

void unpack_maps(const MapUpdateArguments& arguments, cudaStream_t stream) {
  if (arguments.updated_layer_count == 0) {
    return;
  }
  const auto width = static_cast<std::int32_t>(
      staged_width(arguments.expert_count, arguments.slot_count, arguments.thresholds != nullptr));
  unpack_maps_kernel<<<static_cast<unsigned>(arguments.updated_layer_count), kBlockSize,
                       static_cast<std::size_t>(width) * sizeof(std::int32_t), stream>>>(arguments,
                                                                                         width);
  EPLB_CUDA(cudaGetLastError());
}

KernelResources unpack_maps_resources() {
  return kernel_resources(
      "unpack_maps", reinterpret_cast<const void*>(unpack_maps_kernel),
      {.thread_count = static_cast<int>(kBlockSize), .dynamic_shared_bytes = 0});
}

}  // namespace eplb::gpu
