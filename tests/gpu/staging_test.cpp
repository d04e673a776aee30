// Goal: staging gives the bytes, scales, slots, weights and counts of the references, bit for bit.
// Method: every size with every format; ids, gates, masks and NaN weights on padding drawn anew
// each time, by turns with and without a map. Outputs are poisoned to past their ends, where the
// poison must stay; counts start at drawn values.
#include "eplb/gpu/staging.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "eplb/gpu/buffer.hpp"
#include "eplb/gpu/device_maps.hpp"
#include "eplb/gpu/stream.hpp"
#include "kernel_cases.hpp"
#include "reference/staging_reference.hpp"
#include "staging_case.hpp"
#include "workload.hpp"

namespace eplb::gpu::test {
namespace {

constexpr std::array kRowCounts{0, 1, 7, 63, 64, 65, 127, 128, 135, 434};
constexpr std::array kHiddenSizes{256, 4096, 5120, 7168};
constexpr std::array kTopKs{1, 6, 8};
constexpr std::array kFormats{StagingFormat::kBf16, StagingFormat::kMxfp8, StagingFormat::kFp8,
                              StagingFormat::kNvfp4};
constexpr std::size_t kElementsMax = std::size_t{434} * 7168;
constexpr std::size_t kPicksMax = std::size_t{512} * 8;
constexpr std::size_t kGuard = 64;
constexpr std::uint8_t kPoison = 0xA5;

struct Sizes {
  std::int32_t expert_count;
  std::int32_t slot_count;
};

constexpr std::array kSizes{Sizes{.expert_count = 64, .slot_count = 64},
                            Sizes{.expert_count = 384, .slot_count = 416},
                            Sizes{.expert_count = 896, .slot_count = 960}};

struct Arena {
  Stream stream;
  DeviceBuffer<std::uint16_t> activations{kElementsMax};
  DeviceBuffer<std::uint8_t> staged{2 * kElementsMax + kGuard};
  DeviceBuffer<std::uint8_t> scales{kElementsMax / 16 + kGuard};
  DeviceBuffer<std::int64_t> logical_ids{kPicksMax};
  DeviceBuffer<float> router_weights{kPicksMax};
  DeviceBuffer<std::int64_t> slot_ids{kPicksMax + kGuard};
  DeviceBuffer<float> staged_weights{kPicksMax + kGuard};
  DeviceBuffer<std::int32_t> logical_counts{1024};
  DeviceBuffer<std::int32_t> slot_counts{2048};
  DeviceBuffer<std::int32_t> record_gate{1};
  DeviceBuffer<std::int32_t> unpadded_row_count{1};
  DeviceBuffer<std::uint8_t> is_padding{512};
};

template <typename Id>
void put_ids(const Arena& arena, const std::vector<std::int64_t>& values) {
  std::vector<Id> ids(values.size());
  std::ranges::transform(values, ids.begin(), [](std::int64_t id) { return static_cast<Id>(id); });
  EPLB_CUDA(cudaMemcpyAsync(arena.logical_ids.data(), ids.data(), ids.size() * sizeof(Id),
                            cudaMemcpyHostToDevice, arena.stream.get()));
  arena.stream.synchronize();
}

/// The buffer's head must hold `expected` and then poison.
template <typename T>
void expect_framed(Checks& checks, const Arena& arena, const DeviceBuffer<T>& buffer,
                   const std::vector<T>& expected, const std::string& what) {
  std::vector<T> frame = expected;
  T poison{};
  std::memset(&poison, kPoison, sizeof(T));
  frame.resize(expected.size() + kGuard, poison);
  std::vector<T> actual(frame.size());
  EPLB_CUDA(cudaMemcpyAsync(actual.data(), buffer.data(), actual.size() * sizeof(T),
                            cudaMemcpyDeviceToHost, arena.stream.get()));
  arena.stream.synchronize();
  checks.expect_equal<T>(actual, frame, what);
}

void poison(const Arena& arena) {
  cudaStream_t stream = arena.stream.get();
  arena.staged.fill_bytes(kPoison, stream);
  arena.scales.fill_bytes(kPoison, stream);
  arena.slot_ids.fill_bytes(kPoison, stream);
  arena.staged_weights.fill_bytes(kPoison, stream);
}

template <typename Id>
void compare(Checks& checks, const Arena& arena, StagingArguments<Id> arguments,
             const RoutingCase& routing, const StagedBytes& staged, const std::string& what) {
  const MapCase& map_case = routing.map_case;
  cudaStream_t stream = arena.stream.get();
  poison(arena);
  put_ids<Id>(arena, map_case.logical_ids);
  arena.router_weights.upload(routing.weights, stream);
  arena.is_padding.upload(map_case.is_padding, stream);
  arena.record_gate.upload(std::vector<std::int32_t>{map_case.is_recording ? 7 : 0}, stream);
  arena.unpadded_row_count.upload(
      std::vector<std::int32_t>{map_case.unpadded_row_count.value_or(0)}, stream);
  arena.logical_counts.fill_bytes(kPoison, stream);
  arena.slot_counts.fill_bytes(kPoison, stream);
  const std::vector<std::int32_t> zeros(2048);
  arena.logical_counts.upload({zeros.data(), 896}, stream);
  arena.slot_counts.upload({zeros.data(), 960}, stream);

  arguments.logical_ids = reinterpret_cast<const Id*>(arena.logical_ids.data());
  arguments.mapping.choice = map_case.choice;
  arguments.mapping.rank = map_case.rank;
  arguments.mapping.layer = map_case.layer;
  arguments.weight_factor = routing.weight_factor;
  arguments.filled_row_count = routing.filled_row_count;
  arguments.mapping.unpadded_row_count =
      map_case.unpadded_row_count ? arena.unpadded_row_count.data() : nullptr;
  arguments.is_padding = map_case.is_padding.empty() ? nullptr : arena.is_padding.data();
  arguments.mapping.slot_counts = routing.counts_slots ? arena.slot_counts.data() : nullptr;
  stage<Id>(arguments, stream);

  RoutingOutcome expected = expected_routing(routing);
  expected.logical_counts.resize(896, 0);
  expected.slot_counts.resize(960, 0);
  expect_framed(checks, arena, arena.staged, staged.staged, what + " bytes");
  expect_framed(checks, arena, arena.scales, staged.scales, what + " scales");
  expect_framed(checks, arena, arena.slot_ids, expected.slot_ids, what + " slots");
  expect_framed(checks, arena, arena.staged_weights, expected.weights, what + " weights");
  expect_framed(checks, arena, arena.logical_counts, expected.logical_counts, what + " counts");
  expect_framed(checks, arena, arena.slot_counts, expected.slot_counts, what + " slot counts");
}

/// A layer's map on the host and on the device.
struct MappedLayer {
  MappedLayer(Sizes layer_sizes, cudaStream_t stream, Draw& draw)
      : sizes(layer_sizes),
        shape(shape_of(sizes.expert_count, sizes.slot_count)),
        map(draw_map(shape, draw)),
        device_maps({.shape = shape}, stream) {
    const LayerMapUpdate update{.layer = LayerId{0}, .map = &map};
    device_maps.update({&update, 1});
  }

  Sizes sizes;
  Shape shape;
  LayerMap map;
  DeviceMaps device_maps;
};

template <typename Id>
void compare_drawn(Checks& checks, const Arena& arena, const MappedLayer& layer, PickOptions pick,
                   const StagingArguments<Id>& common, const StagedBytes& staged, Draw& draw) {
  pick.expert_count = layer.sizes.expert_count;
  pick.skew =
      kSkews[static_cast<std::size_t>(draw.below(static_cast<std::int32_t>(kSkews.size())))];
  RoutingCase routing = drawn_routing(pick, layer.map, layer.sizes.slot_count, draw);
  spoil_picks(routing.map_case.logical_ids, pick.expert_count, sizeof(Id) == 4, draw);
  StagingArguments<Id> arguments = common;
  arguments.top_k = pick.top_k;
  arguments.mapping.map = routing.maps ? layer.device_maps.view(LayerId{0}) : LayerMapView{};
  arguments.mapping.slot_count = layer.sizes.slot_count;
  const std::string what =
      std::to_string(pick.row_count) + " x " + std::to_string(common.hidden_size) + " format " +
      std::to_string(static_cast<int>(common.format)) + " top " + std::to_string(pick.top_k) +
      " of " + std::to_string(pick.expert_count) + " int" + std::to_string(8 * sizeof(Id)) +
      (routing.maps ? "" : " copied");
  compare<Id>(checks, arena, arguments, routing, staged, what);
}

template <typename Id>
StagingArguments<Id> common_arguments(const Arena& arena) {
  StagingArguments<Id> arguments;
  arguments.activations = arena.activations.data();
  arguments.staged = arena.staged.data();
  arguments.scales = arena.scales.data();
  arguments.router_weights = arena.router_weights.data();
  arguments.slot_ids = arena.slot_ids.data();
  arguments.staged_weights = arena.staged_weights.data();
  arguments.mapping.record_gate = arena.record_gate.data();
  arguments.mapping.logical_counts = arena.logical_counts.data();
  return arguments;
}

}  // namespace

void test_staging(Checks& checks, const Setting& setting) {
  Draw draw(setting.seed);
  const Arena arena;
  std::vector<std::unique_ptr<MappedLayer>> layers;
  layers.reserve(kSizes.size());
  for (const Sizes sizes : kSizes) {
    layers.push_back(std::make_unique<MappedLayer>(sizes, arena.stream.get(), draw));
  }
  auto narrow = common_arguments<std::int32_t>(arena);
  auto wide = common_arguments<std::int64_t>(arena);
  const auto run = [&](std::span<const std::uint16_t> activations, std::int32_t row_count) {
    arena.activations.upload(activations, arena.stream.get());
    for (const StagingFormat format : kFormats) {
      narrow.format = wide.format = format;
      const StagedBytes staged = staging_reference(format, activations);
      for (const std::int32_t top_k : kTopKs) {
        for (const auto& layer : layers) {
          const PickOptions pick{.row_count = row_count, .top_k = top_k};
          if (draw.chance(0.5)) {
            compare_drawn(checks, arena, *layer, pick, narrow, staged, draw);
          } else {
            compare_drawn(checks, arena, *layer, pick, wide, staged, draw);
          }
        }
      }
    }
  };
  for (const std::int32_t row_count : kRowCounts) {
    if (row_count > setting.row_count_max) {
      continue;
    }
    for (const std::int32_t hidden_size : kHiddenSizes) {
      narrow.row_count = wide.row_count = row_count;
      narrow.hidden_size = wide.hidden_size = hidden_size;
      for (const Filling filling : kFillings) {
        const auto size =
            static_cast<std::size_t>(row_count) * static_cast<std::size_t>(hidden_size);
        run(drawn_activations(size, filling, draw), row_count);
      }
    }
  }
}

}  // namespace eplb::gpu::test
