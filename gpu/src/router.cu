#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "eplb/gpu/device/load_now.cuh"
#include "eplb/gpu/device/mapping.cuh"
#include "eplb/gpu/device/router.cuh"
#include "eplb/gpu/error.hpp"
#include "eplb/gpu/router.hpp"

namespace eplb::gpu {
namespace {

constexpr int kWarpsMin = 4;

/// So many warps of a block, and blocks of a multiprocessor, leave each thread the registers that
/// its logits need: 64, 80 or 168.
template <int kVectors>
constexpr int kWarpsMax = kVectors <= 2 ? 16 : 12;
template <int kVectors>
constexpr int kBlockSizeMax = kWarpsMax<kVectors>* static_cast<int>(device::kWarpLanes);
template <int kVectors>
constexpr int kBlocksPerMultiprocessor = kVectors <= 4 ? 2 : 1;

/// A row as it is loaded: whether it is padding, and a lane's logits.
template <int kVectors>
struct LoadedRow {
  bool is_padding = true;
  float logits[kVectors * device::kVectorExperts];
};

/// The mask is asked for beside the logits, which are loaded whatever it says: to wait for it would
/// be one more trip to the L2.
template <int kVectors, typename Logit, typename Id>
__device__ void load_row(const RouterArguments<Logit, Id>& arguments, std::uint32_t row,
                         const device::LaneExperts& experts, bool is_aligned,
                         LoadedRow<kVectors>& loaded) {
  loaded.is_padding = row >= static_cast<std::uint32_t>(arguments.row_count);
  if (!loaded.is_padding) {
    const bool has_mask = arguments.is_padding != nullptr;
    const std::uint32_t mask = has_mask ? device::load_now(arguments.is_padding + row) : 0U;
    device::load_values<kVectors>(
        arguments.logits + static_cast<std::size_t>(row) * arguments.rule.expert_count, experts,
        is_aligned, __int_as_float(0x7FC00000), loaded.logits);
    loaded.is_padding = mask != 0;
  }
}

/// What the lanes below top_k hold of a row: an expert each, best first.
struct Pick {
  std::int32_t expert = -1;
  float weight = 0;
};

template <int kVectors, typename Logit, typename Id>
__device__ Pick pick_of(const RouterArguments<Logit, Id>& arguments, std::uint32_t row,
                        std::uint32_t lane, const device::LaneExperts& experts,
                        bool is_bias_aligned, LoadedRow<kVectors>& loaded) {
  constexpr int kValues = kVectors * device::kVectorExperts;
  const RouterRule& rule = arguments.rule;
  float(&values)[kValues] = loaded.logits;
  const device::SoftmaxRow softmax = device::score_values(rule.scoring, values);
  if (arguments.choice_bias != nullptr) {
    float biases[kValues];
    device::load_values<kVectors>(arguments.choice_bias, experts, is_bias_aligned, 0.0F, biases);
#pragma unroll
    for (int index = 0; index < kValues; ++index) {
      values[index] = device::sum_of(values[index], biases[index]);
    }
  }
  std::uint32_t keys[kValues];
#pragma unroll
  for (int index = 0; index < kValues; ++index) {
    keys[index] = experts.holds(index) ? device::choice_key(values[index]) : device::kNoKey;
  }
  if (rule.top_group_count < rule.group_count) {
    device::keep_top_groups(rule, lane, keys);
  }
  Pick pick;
  for (std::int32_t index = 0; index < rule.top_k; ++index) {
    const std::int32_t expert = device::take_best(experts, keys);
    pick.expert = index == static_cast<std::int32_t>(lane) ? expert : pick.expert;
  }
  float score = 0;
  if (pick.expert >= 0) {
    // The lane that held this logit has it no longer; in the L1 it still lies.
    const Logit* logits = arguments.logits + static_cast<std::size_t>(row) * rule.expert_count;
    score =
        device::score_of(rule.scoring, device::logit_value(__ldg(logits + pick.expert)), softmax);
  }
  pick.weight = device::pick_weight(rule, score);
  return pick;
}

template <typename Logit, typename Id>
__device__ void store_pick(const RouterArguments<Logit, Id>& arguments, std::uint32_t offset,
                           const Pick& pick, std::int32_t slot) {
  if (arguments.logical_ids != nullptr) {
    arguments.logical_ids[offset] = pick.expert;
  }
  arguments.slot_ids[offset] = slot;
  arguments.weights[offset] = pick.weight;
}

/// A warp a row. As in map_and_record, the heads of all experts come to shared memory while the
/// logits are on their way, so that mapping adds no trip to the L2 behind the choice.
template <int kVectors, bool kByShares, typename Logit, typename Id>
__global__ void __launch_bounds__(kBlockSizeMax<kVectors>, kBlocksPerMultiprocessor<kVectors>)
    route_kernel(const __grid_constant__ RouterArguments<Logit, Id> arguments, bool is_aligned,
                 bool is_bias_aligned) {
  extern __shared__ uint4 shared_memory[];
  const LayerMapping& mapping = arguments.mapping;
  const bool maps = mapping.map.heads != nullptr;
  const device::BlockRecorder<true, kByShares> recorder(mapping, shared_memory);
  const std::uint32_t lane = threadIdx.x % device::kWarpLanes;
  const std::uint32_t stride = gridDim.x * (blockDim.x / device::kWarpLanes);
  const auto row_end =
      static_cast<std::uint32_t>(max(arguments.row_count, arguments.filled_row_count));
  std::uint32_t row = (blockIdx.x * blockDim.x + threadIdx.x) / device::kWarpLanes;
  const device::LaneExperts experts(arguments.rule, lane);
  const std::uint32_t recorded_rows = device::recorded_row_count(mapping);
  recorder.load_heads();
  LoadedRow<kVectors> loaded;
  load_row(arguments, row, experts, is_aligned, loaded);
  recorder.start();

  while (row < row_end) {
    Pick pick;
    if (!loaded.is_padding) {
      pick = pick_of(arguments, row, lane, experts, is_bias_aligned, loaded);
    }
    const auto top_k = static_cast<std::uint32_t>(arguments.rule.top_k);
    if (lane < top_k) {
      std::int32_t slot = pick.expert;
      if (maps && slot >= 0) {
        slot = recorder.slot(pick.expert, row, recorded_rows);
      }
      store_pick(arguments, row * top_k + lane, pick, slot);
    }
    row += stride;
    load_row(arguments, row, experts, is_aligned, loaded);
  }

  if (maps && recorded_rows != 0) {  // The same in every thread: all read the same gate.
    recorder.finish();
  }
}

template <typename Logit, typename Id>
using RouteKernel = void (*)(RouterArguments<Logit, Id>, bool, bool);

template <typename Logit, typename Id>
struct RouteVariant {
  RouteKernel<Logit, Id> kernel;
  int warps_max;
  int blocks_per_multiprocessor;
};

template <int kVectors, typename Logit, typename Id>
RouteVariant<Logit, Id> variant(bool by_shares) {
  return {by_shares ? route_kernel<kVectors, true, Logit, Id>
                    : route_kernel<kVectors, false, Logit, Id>,
          kWarpsMax<kVectors>, kBlocksPerMultiprocessor<kVectors>};
}

/// For lanes of so many fours of experts.
template <typename Logit, typename Id>
RouteVariant<Logit, Id> variant_of(int vectors, bool by_shares) {
  switch (vectors) {
    case 1:
      return variant<1, Logit, Id>(by_shares);
    case 2:
      return variant<2, Logit, Id>(by_shares);
    case 3:
      return variant<3, Logit, Id>(by_shares);
    case 4:
      return variant<4, Logit, Id>(by_shares);
    default:
      return variant<8, Logit, Id>(by_shares);
  }
}

int div_ceil(int dividend, int divisor) {
  return (dividend + divisor - 1) / divisor;
}

int vectors_per_lane(const RouterRule& rule) {
  const int group_lanes = static_cast<int>(device::kWarpLanes) / rule.group_count;
  const int group_vectors = div_ceil(rule.expert_count / rule.group_count, device::kVectorExperts);
  return div_ceil(group_vectors, group_lanes);
}

void require(bool holds, const char* what) {
  if (!holds) {
    throw std::invalid_argument(std::string("route: ") + what);
  }
}

void validate(const RouterRule& rule) {
  require(rule.expert_count >= 1 && rule.expert_count <= kExpertsMax, "expert count out of range");
  require(rule.top_k >= 1 && rule.top_k <= kTopKMax, "top_k out of range");
  require(rule.group_count >= 1 && rule.group_count <= kExpertGroupsMax &&
              std::has_single_bit(static_cast<unsigned>(rule.group_count)),
          "the group count is no power of two of at most 32");
  require(rule.expert_count % rule.group_count == 0, "groups of unequal sizes");
  require(rule.top_group_count >= 1 && rule.top_group_count <= rule.group_count,
          "top_group_count out of range");
  const int group_size = rule.expert_count / rule.group_count;
  require(rule.top_k <= rule.top_group_count * group_size, "top_k beyond the experts to choose");
  require(rule.group_score == GroupScore::kMaximum || rule.top_group_count == rule.group_count ||
              group_size >= 2,
          "a sum of two wants groups of two experts");
}

template <typename Logit, typename Id>
void validate(const RouterArguments<Logit, Id>& arguments) {
  validate(arguments.rule);
  const std::int64_t rows = std::max(arguments.row_count, arguments.filled_row_count);
  require(arguments.row_count >= 0, "rows out of range");
  require(rows * arguments.rule.top_k < (1LL << 30), "too many ids");
  if (arguments.mapping.map.heads != nullptr && rows > 0) {
    require_legal(arguments.mapping, "route");
    require(arguments.mapping.map.expert_count == arguments.rule.expert_count,
            "the map is of another number of experts");
  }
}

/// Whether every four of a row can be loaded at once.
template <typename Value>
bool are_fours_aligned(const RouterRule& rule, const Value* values) {
  const int group_size = rule.expert_count / rule.group_count;
  const auto address = reinterpret_cast<std::uintptr_t>(values);
  return group_size % device::kVectorExperts == 0 &&
         address % (device::kVectorExperts * sizeof(Value)) == 0;
}

template <typename Logit>
void add_resources(std::vector<KernelResources>& resources, int vectors) {
  const RouteVariant<Logit, std::int64_t> variant = variant_of<Logit, std::int64_t>(vectors, false);
  const int expert_count = vectors * device::kVectorExperts * static_cast<int>(device::kWarpLanes);
  LayerMapping mapping;
  mapping.map.expert_count = expert_count;
  resources.push_back(kernel_resources(
      std::string("route<") + (std::is_same_v<Logit, float> ? "float, " : "bf16, ") +
          std::to_string(expert_count) + ">",
      reinterpret_cast<const void*>(variant.kernel),
      {.thread_count = variant.warps_max * static_cast<int>(device::kWarpLanes),
       .dynamic_shared_bytes = device::recorder_bytes(mapping)}));
}

}  // namespace

// Blocks of few rows, so that a small batch is spread over all multiprocessors, one row a warp; of
// many, and no more of them than fit, for a large one, since each adds all its counters at the end.
template <typename Logit, typename Id>
void route(const RouterArguments<Logit, Id>& arguments, cudaStream_t stream) {
  validate(arguments);
  const int rows = std::max(arguments.row_count, arguments.filled_row_count);
  if (rows == 0) {
    return;
  }
  RouterArguments<Logit, Id> launched = arguments;
  if (launched.mapping.map.heads == nullptr) {
    launched.mapping = LayerMapping{};
  }
  const RouterRule& rule = arguments.rule;
  const auto variant = variant_of<Logit, Id>(vectors_per_lane(rule),
                                             launched.mapping.choice == ReplicaChoice::kShares);
  const int processors = multiprocessor_count();
  const int warps = std::clamp(div_ceil(rows, processors), kWarpsMin, variant.warps_max);
  const int blocks =
      std::min(div_ceil(rows, warps), processors * variant.blocks_per_multiprocessor);
  variant.kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(warps) * device::kWarpLanes,
                   device::recorder_bytes(launched.mapping), stream>>>(
      launched, are_fours_aligned(rule, arguments.logits),
      are_fours_aligned(rule, arguments.choice_bias));
  EPLB_CUDA(cudaGetLastError());
}

template void route(const RouterArguments<float, std::int32_t>&, cudaStream_t);
template void route(const RouterArguments<float, std::int64_t>&, cudaStream_t);
template void route(const RouterArguments<std::uint16_t, std::int32_t>&, cudaStream_t);
template void route(const RouterArguments<std::uint16_t, std::int64_t>&, cudaStream_t);

std::vector<KernelResources> router_resources() {
  std::vector<KernelResources> resources;
  for (const int vectors : {1, 2, 3, 4, 8}) {
    add_resources<float>(resources, vectors);
    add_resources<std::uint16_t>(resources, vectors);
  }
  return resources;
}

}  // namespace eplb::gpu
