#include <algorithm>
#include <stdexcept>
#include <string>

#include "eplb/gpu/device/load_now.cuh"
#include "eplb/gpu/device/mapping.cuh"
#include "eplb/gpu/device/quantize.cuh"
#include "eplb/gpu/error.hpp"
#include "eplb/gpu/staging.hpp"

namespace eplb::gpu {
namespace {

constexpr unsigned kBlockSize = 128;
constexpr unsigned kVectorElements = 8;

/// What becomes of a thread's vector of eight in each format. Rows are so many vectors that a
/// group's scale is never shared by two rows: outputs need no row, only the vector's place among
/// all.
///
/// NOTE [vectors a thread] More of them are fewer blocks to start, and more loads under way in
/// each, but also more arithmetic that stands behind one another once they are there. The counts
/// are the quickest of 1, 2, 4 and 8 on an H200 at 432 and 768 rows of 5120.
template <StagingFormat kFormat>
struct Encoding;

template <>
struct Encoding<StagingFormat::kBf16> {
  using Octet = uint4;
  static constexpr unsigned kVectorsPerThread = 8;
  static constexpr unsigned kBlocksPerMultiprocessor = 8;
  static constexpr unsigned kVectorsPerScale = 0;

  static __device__ Octet encode(const uint4& words) { return words; }
};

template <>
struct Encoding<StagingFormat::kMxfp8> {
  using Octet = uint2;
  using Scale = std::uint8_t;
  static constexpr unsigned kVectorsPerThread = 4;
  static constexpr unsigned kBlocksPerMultiprocessor = 16;
  static constexpr unsigned kVectorsPerScale = 4;

  static __device__ Octet encode(const uint4& words, Scale& scale) {
    const float amax = fmaxf(device::group_amax<kVectorsPerScale>(words), 1e-4F);
    const std::uint32_t exponent = device::mxfp8_exponent(amax);
    const float factor = device::mxfp8_factor(exponent);
    scale = static_cast<Scale>(exponent);
    return device::e4m3_octet(
        words, [&](std::uint32_t word) { return device::times_power_of_two(word, factor); });
  }
};

template <>
struct Encoding<StagingFormat::kFp8> {
  using Octet = uint2;
  using Scale = float;
  static constexpr unsigned kVectorsPerThread = 2;
  static constexpr unsigned kBlocksPerMultiprocessor = 16;
  static constexpr unsigned kVectorsPerScale = 16;

  static __device__ Octet encode(const uint4& words, Scale& scale) {
    scale = device::fp8_scale(fmaxf(device::group_amax<kVectorsPerScale>(words), 1e-10F));
    return device::e4m3_octet(words, device::Divider(scale));
  }
};

template <>
struct Encoding<StagingFormat::kNvfp4> {
  using Octet = std::uint32_t;
  using Scale = std::uint8_t;
  static constexpr unsigned kVectorsPerThread = 2;
  static constexpr unsigned kBlocksPerMultiprocessor = 16;
  static constexpr unsigned kVectorsPerScale = 2;

  static __device__ Octet encode(const uint4& words, Scale& scale) {
    scale = device::nvfp4_scale(device::group_amax<kVectorsPerScale>(words));
    return device::E2m1Encoder(device::from_e4m3(scale))(words);
  }
};

template <StagingFormat kFormat>
constexpr unsigned kVectorsPerBlock = kBlockSize* Encoding<kFormat>::kVectorsPerThread;

template <StagingFormat kFormat, typename Id>
__device__ void stage_block(const StagingArguments<Id>& arguments, std::uint32_t block) {
  using Encoding = Encoding<kFormat>;
  const std::uint32_t vector_count =
      static_cast<std::uint32_t>(arguments.row_count) *
      (static_cast<std::uint32_t>(arguments.hidden_size) / kVectorElements);
  const std::uint32_t first = block * kVectorsPerBlock<kFormat> + threadIdx.x;
  const auto* activations = reinterpret_cast<const uint4*>(arguments.activations) + first;
  const auto is_inside = [&](unsigned index) { return first + index * kBlockSize < vector_count; };
  uint4 words[Encoding::kVectorsPerThread];
#pragma unroll
  for (unsigned index = 0; index < Encoding::kVectorsPerThread; ++index) {
    words[index] = is_inside(index) ? __ldg(activations + index * kBlockSize) : uint4{0, 0, 0, 0};
  }
  auto* staged = static_cast<typename Encoding::Octet*>(arguments.staged) + first;
#pragma unroll
  for (unsigned index = 0; index < Encoding::kVectorsPerThread; ++index) {
    if constexpr (Encoding::kVectorsPerScale == 0) {
      if (is_inside(index)) {
        staged[index * kBlockSize] = Encoding::encode(words[index]);
      }
    } else {
      constexpr unsigned kPerScale = Encoding::kVectorsPerScale;
      using Scale = typename Encoding::Scale;
      Scale scale{};
      const auto octet = Encoding::encode(words[index], scale);
      if (is_inside(index)) {
        staged[index * kBlockSize] = octet;
        if (first % kPerScale == 0) {
          auto* scales = static_cast<Scale*>(arguments.scales) + first / kPerScale;
          scales[index * kBlockSize / kPerScale] = scale;
        }
      }
    }
  }
}

/// One pick of the router: as loaded, then with padding resolved.
template <typename Id>
struct Pick {
  Id id = -1;
  float weight = 0;
};

template <typename Id>
__device__ Pick<Id> load_pick(const StagingArguments<Id>& arguments, std::uint32_t pick,
                              std::uint32_t row) {
  if (row >= static_cast<std::uint32_t>(arguments.row_count)) {
    return {};
  }
  const Id id = device::load_now(arguments.logical_ids + pick);
  const float weight = device::load_now(arguments.router_weights + pick);
  const bool has_mask = arguments.is_padding != nullptr;
  const std::uint32_t mask = has_mask ? device::load_now(arguments.is_padding + row) : 0U;
  return mask != 0 ? Pick<Id>{} : Pick<Id>{id, weight * arguments.weight_factor};
}

/// What is done with ids beside staging; each is compiled apart, so that none pays for another.
enum class Routing : std::uint8_t {
  kCopied,
  kMapped,      ///< And counted by logical expert.
  kMappedBoth,  ///< And counted by logical expert and by slot.
  kMappedByShares,
  kMappedBothByShares,
};

template <Routing kRouting>
constexpr bool kCountsBoth =
    kRouting == Routing::kMappedBoth || kRouting == Routing::kMappedBothByShares;

template <Routing kRouting>
constexpr bool kIsByShares =
    kRouting == Routing::kMappedByShares || kRouting == Routing::kMappedBothByShares;

/// One pick a thread. Heads, gate, row count, id, weight and mask are all asked for before any is
/// used.
///
/// NOTE [counting pick by pick] Whatever routing does behind its loads shows in the kernel's time:
/// a second barrier for counters in shared memory, or for lanes to find others that pick the same
/// expert, which takes as long as a warp names different ones. So each lane adds for itself, which
/// nothing waits for, and stripes keep the picks of a hot expert apart.
template <Routing kRouting, typename Id>
__device__ void route_block(const StagingArguments<Id>& arguments, std::uint32_t block) {
  const auto top_k = static_cast<std::uint32_t>(arguments.top_k);
  const std::uint32_t pick_count =
      static_cast<std::uint32_t>(max(arguments.row_count, arguments.filled_row_count)) * top_k;
  const std::uint32_t pick = block * kBlockSize + threadIdx.x;
  const std::uint32_t row = pick / top_k;
  const LayerMapping& mapping = arguments.mapping;
  constexpr bool kMaps = kRouting != Routing::kCopied;
  extern __shared__ uint4 shared[];
  const device::HeldHeads heads{reinterpret_cast<MapEntry*>(shared)};
  if constexpr (kMaps) {
    heads.load(mapping.map);
  }
  // Worked out while the loads are on their way.
  std::int32_t* counts = device::stripe_of(mapping, block);
  const std::uint32_t recorded_rows = kMaps ? device::recorded_row_count(mapping) : 0;
  const Pick<Id> loaded = load_pick(arguments, pick, row);
  std::int64_t slot = loaded.id;
  if constexpr (kMaps) {
    const std::int32_t expert = device::expert_of(loaded.id, mapping.map.expert_count);
    heads.wait();
    const bool is_recorded = row < recorded_rows && expert >= 0;
    if (is_recorded) {
      atomicAdd(&counts[expert], 1);
    }
    const std::int32_t chosen = expert < 0 ? -1
                                           : device::chosen_slot<kIsByShares<kRouting>>(
                                                 mapping, heads.of(expert), expert, row);
    if constexpr (kCountsBoth<kRouting>) {
      const bool is_counted = is_recorded && chosen < mapping.slot_count;
      device::count_in_warp(mapping.slot_counts, is_counted ? chosen : -1);
    }
    slot = chosen;
  }
  if (pick < pick_count) {
    arguments.slot_ids[pick] = slot;
    arguments.staged_weights[pick] = loaded.weight;
  }
}

/// NOTE [routing blocks] Mapping is a chain of two dependent loads, staging one load and much
/// arithmetic. Blocks of their own, the first of the grid, run the chain while the others stage, so
/// that no row's staging waits for it.
template <StagingFormat kFormat, Routing kRouting, typename Id>
__global__ void __launch_bounds__(kBlockSize, Encoding<kFormat>::kBlocksPerMultiprocessor)
    stage_kernel(const __grid_constant__ StagingArguments<Id> arguments,
                 std::uint32_t routing_block_count) {
  if (blockIdx.x < routing_block_count) {
    route_block<kRouting>(arguments, blockIdx.x);
  } else {
    stage_block<kFormat>(arguments, blockIdx.x - routing_block_count);
  }
}

template <typename Id>
using StageKernel = void (*)(StagingArguments<Id>, std::uint32_t);

template <typename Id, Routing kRouting>
StageKernel<Id> kernel_of(StagingFormat format) {
  switch (format) {
    case StagingFormat::kBf16:
      return stage_kernel<StagingFormat::kBf16, kRouting, Id>;
    case StagingFormat::kMxfp8:
      return stage_kernel<StagingFormat::kMxfp8, kRouting, Id>;
    case StagingFormat::kFp8:
      return stage_kernel<StagingFormat::kFp8, kRouting, Id>;
    case StagingFormat::kNvfp4:
      return stage_kernel<StagingFormat::kNvfp4, kRouting, Id>;
  }
  throw std::invalid_argument("stage: no such format");
}

template <typename Id>
StageKernel<Id> kernel_of(StagingFormat format, Routing routing) {
  switch (routing) {
    case Routing::kCopied:
      return kernel_of<Id, Routing::kCopied>(format);
    case Routing::kMapped:
      return kernel_of<Id, Routing::kMapped>(format);
    case Routing::kMappedBoth:
      return kernel_of<Id, Routing::kMappedBoth>(format);
    case Routing::kMappedByShares:
      return kernel_of<Id, Routing::kMappedByShares>(format);
    case Routing::kMappedBothByShares:
      return kernel_of<Id, Routing::kMappedBothByShares>(format);
  }
  throw std::invalid_argument("stage: no such routing");
}

Routing routing_of(const LayerMapping& mapping) {
  if (mapping.map.heads == nullptr) {
    return Routing::kCopied;
  }
  const bool both = mapping.slot_counts != nullptr;
  if (mapping.choice == ReplicaChoice::kShares) {
    return both ? Routing::kMappedBothByShares : Routing::kMappedByShares;
  }
  return both ? Routing::kMappedBoth : Routing::kMapped;
}

void require(bool holds, const char* what) {
  if (!holds) {
    throw std::invalid_argument(std::string("stage: ") + what);
  }
}

bool is_aligned_to(const void* pointer, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(pointer) % bytes == 0;
}

template <typename Id>
void validate(const StagingArguments<Id>& arguments) {
  const std::int64_t rows = std::max(arguments.row_count, arguments.filled_row_count);
  require(arguments.row_count >= 0 && arguments.top_k >= 1, "rows or top_k out of range");
  require(rows * arguments.top_k < (1LL << 30), "too many ids");
  const int unit = arguments.format == StagingFormat::kNvfp4 ? 256 : 128;
  require(arguments.hidden_size > 0 && arguments.hidden_size % unit == 0,
          "the hidden size is no multiple of the format's blocks");
  require(rows * arguments.hidden_size < (1LL << 33), "too many elements");
  require(is_aligned_to(arguments.activations, 16) && is_aligned_to(arguments.staged, 16) &&
              is_aligned_to(arguments.scales, 4),
          "a buffer is not aligned");
  if (arguments.mapping.map.heads != nullptr && rows > 0) {
    require_legal(arguments.mapping, "stage");
  }
}

unsigned blocks_for(std::int64_t item_count, std::int64_t items_per_block) {
  return static_cast<unsigned>((item_count + items_per_block - 1) / items_per_block);
}

std::size_t shared_bytes_of(const LayerMapping& mapping) {
  return routing_of(mapping) == Routing::kCopied ? 0
                                                 : device::heads_bytes(mapping.map.expert_count);
}

struct BlockShape {
  unsigned vector_count;
  unsigned blocks_per_multiprocessor;
};

template <StagingFormat kFormat>
constexpr BlockShape kBlockShape{kVectorsPerBlock<kFormat>,
                                 Encoding<kFormat>::kBlocksPerMultiprocessor};

BlockShape block_shape_of(StagingFormat format) {
  switch (format) {
    case StagingFormat::kBf16:
      return kBlockShape<StagingFormat::kBf16>;
    case StagingFormat::kMxfp8:
      return kBlockShape<StagingFormat::kMxfp8>;
    case StagingFormat::kFp8:
      return kBlockShape<StagingFormat::kFp8>;
    case StagingFormat::kNvfp4:
      return kBlockShape<StagingFormat::kNvfp4>;
  }
  throw std::invalid_argument("stage: no such format");
}

/// All blocks that can be resident have shared memory, those that stage too, and no more of it is
/// taken from the L1 than that.
void leave_room_for(const void* kernel, std::size_t shared_bytes, unsigned blocks) {
  constexpr std::size_t kReservedBytes = 1024;              // Of each block, by CUDA itself.
  constexpr std::size_t kMultiprocessorBytes = 228 * 1024;  // 9.0 and 10.0 alike.
  const std::size_t wanted = blocks * (shared_bytes + kReservedBytes);
  const std::size_t percent = (wanted * 100 + kMultiprocessorBytes - 1) / kMultiprocessorBytes;
  EPLB_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                 static_cast<int>(std::min<std::size_t>(percent, 100))));
}

const char* name_of(StagingFormat format) {
  constexpr const char* kNames[]{"bf16", "mxfp8", "fp8", "nvfp4"};
  return kNames[static_cast<std::size_t>(format)];
}

}  // namespace

template <typename Id>
void stage(const StagingArguments<Id>& arguments, cudaStream_t stream) {
  validate(arguments);
  const std::int64_t rows = std::max(arguments.row_count, arguments.filled_row_count);
  if (rows == 0) {
    return;
  }
  const std::int64_t vector_count =
      static_cast<std::int64_t>(arguments.row_count) * arguments.hidden_size / kVectorElements;
  const unsigned routing_block_count = blocks_for(rows * arguments.top_k, kBlockSize);
  const StageKernel<Id> kernel = kernel_of<Id>(arguments.format, routing_of(arguments.mapping));
  const std::size_t shared_bytes = shared_bytes_of(arguments.mapping);
  const BlockShape shape = block_shape_of(arguments.format);
  const unsigned staging_block_count = blocks_for(vector_count, shape.vector_count);
  leave_room_for(reinterpret_cast<const void*>(kernel), shared_bytes,
                 shape.blocks_per_multiprocessor);
  kernel<<<routing_block_count + staging_block_count, kBlockSize, shared_bytes, stream>>>(
      arguments, routing_block_count);
  EPLB_CUDA(cudaGetLastError());
}

template void stage(const StagingArguments<std::int32_t>&, cudaStream_t);
template void stage(const StagingArguments<std::int64_t>&, cudaStream_t);

std::vector<KernelResources> staging_resources() {
  constexpr std::int32_t kExpertsOfReport = 384;
  std::vector<KernelResources> resources;
  for (const StagingFormat format :
       {StagingFormat::kBf16, StagingFormat::kMxfp8, StagingFormat::kFp8, StagingFormat::kNvfp4}) {
    for (const Routing routing : {Routing::kCopied, Routing::kMapped, Routing::kMappedBoth}) {
      constexpr const char* kRoutingNames[]{", copied>", ", mapped>", ", both counts>"};
      resources.push_back(kernel_resources(
          std::string("stage<") + name_of(format) + kRoutingNames[static_cast<int>(routing)],
          reinterpret_cast<const void*>(kernel_of<std::int64_t>(format, routing)),
          {.thread_count = kBlockSize,
           .dynamic_shared_bytes =
               routing == Routing::kCopied ? 0 : device::heads_bytes(kExpertsOfReport)}));
    }
  }
  return resources;
}

}  // namespace eplb::gpu
