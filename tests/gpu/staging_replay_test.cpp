// Goal: one graph of a staging launch serves while ids, weights, gate, padding and map change
// between replays at their fixed addresses. Method: captured once for NVFP4, replayed 40 times with
// everything drawn anew, slots, weights and running counts compared with the references.
#include <algorithm>
#include <string>
#include <vector>

#include "eplb/gpu/buffer.hpp"
#include "eplb/gpu/device_maps.hpp"
#include "eplb/gpu/graph.hpp"
#include "eplb/gpu/staging.hpp"
#include "eplb/gpu/stream.hpp"
#include "kernel_cases.hpp"
#include "staging_case.hpp"
#include "workload.hpp"

namespace eplb::gpu::test {
namespace {

constexpr std::int32_t kExperts = 384;
constexpr std::int32_t kSlots = 416;
constexpr std::int32_t kRows = 135;
constexpr std::int32_t kTopK = 6;
constexpr std::int32_t kHiddenSize = 5120;
constexpr std::size_t kPicks = static_cast<std::size_t>(kRows) * kTopK;
constexpr std::size_t kElements = static_cast<std::size_t>(kRows) * kHiddenSize;

/// What stays at its address for the life of the graph.
struct Fixed {
  Stream stream;
  DeviceMaps maps{{.shape = shape_of(kExperts, kSlots)}, stream.get()};
  DeviceBuffer<std::uint16_t> activations{kElements};
  DeviceBuffer<std::uint8_t> staged{kElements / 2};
  DeviceBuffer<std::uint8_t> scales{kElements / 16};
  DeviceBuffer<std::int64_t> logical_ids{kPicks};
  DeviceBuffer<float> router_weights{kPicks};
  DeviceBuffer<std::int64_t> slot_ids{kPicks};
  DeviceBuffer<float> staged_weights{kPicks};
  DeviceBuffer<std::uint8_t> is_padding{kRows};
  DeviceBuffer<std::int32_t> record_gate{1};
  DeviceBuffer<std::int32_t> unpadded_row_count{1};
  DeviceBuffer<std::int32_t> logical_counts{kExperts};
  DeviceBuffer<std::int32_t> slot_counts{kSlots};
};

StagingArguments<std::int64_t> arguments_of(const Fixed& fixed) {
  StagingArguments<std::int64_t> arguments;
  arguments.format = StagingFormat::kNvfp4;
  arguments.activations = fixed.activations.data();
  arguments.row_count = kRows;
  arguments.hidden_size = kHiddenSize;
  arguments.staged = fixed.staged.data();
  arguments.scales = fixed.scales.data();
  arguments.logical_ids = fixed.logical_ids.data();
  arguments.router_weights = fixed.router_weights.data();
  arguments.top_k = kTopK;
  arguments.slot_ids = fixed.slot_ids.data();
  arguments.staged_weights = fixed.staged_weights.data();
  arguments.mapping.map = fixed.maps.view(LayerId{0});
  arguments.mapping.record_gate = fixed.record_gate.data();
  arguments.mapping.unpadded_row_count = fixed.unpadded_row_count.data();
  arguments.is_padding = fixed.is_padding.data();
  arguments.mapping.logical_counts = fixed.logical_counts.data();
  arguments.mapping.slot_counts = fixed.slot_counts.data();
  arguments.mapping.slot_count = kSlots;
  return arguments;
}

/// A routing with all that the graph holds fixed at the graph's values.
RoutingCase drawn_replay(const LayerMap& map, Draw& draw) {
  const PickOptions pick{.row_count = kRows,
                         .top_k = kTopK,
                         .expert_count = kExperts,
                         .skew = draw.chance(0.5) ? Skew::kUniform : Skew::kHot};
  RoutingCase routing = drawn_routing(pick, map, kSlots, draw);
  routing.maps = true;
  routing.counts_slots = true;
  routing.filled_row_count = 0;
  routing.weight_factor = 1.0F;
  MapCase& map_case = routing.map_case;
  map_case.choice = ReplicaChoice::kSalted;
  map_case.rank = 0;
  map_case.layer = 0;
  map_case.unpadded_row_count = draw.below(kRows + 1);
  map_case.is_padding.resize(kRows, 0);
  spoil_picks(map_case.logical_ids, kExperts, false, draw);
  return routing;
}

void put(const Fixed& fixed, const RoutingCase& routing) {
  constexpr std::uint8_t kPoison = 0xA5;
  cudaStream_t stream = fixed.stream.get();
  const MapCase& map_case = routing.map_case;
  fixed.logical_ids.upload(map_case.logical_ids, stream);
  fixed.router_weights.upload(routing.weights, stream);
  fixed.is_padding.upload(map_case.is_padding, stream);
  fixed.record_gate.upload(std::vector<std::int32_t>{map_case.is_recording ? 1 : 0}, stream);
  fixed.unpadded_row_count.upload(
      std::vector<std::int32_t>{map_case.unpadded_row_count.value_or(0)}, stream);
  fixed.slot_ids.fill_bytes(kPoison, stream);
  fixed.staged_weights.fill_bytes(kPoison, stream);
}

void add(std::vector<std::int32_t>& sums, const std::vector<std::int32_t>& more) {
  std::ranges::transform(sums, more, sums.begin(),
                         [](std::int32_t left, std::int32_t right) { return left + right; });
}

}  // namespace

void test_staging_replay(Checks& checks, const Setting& setting) {
  Draw draw(setting.seed);
  constexpr int kReplays = 40;
  Fixed fixed;
  cudaStream_t stream = fixed.stream.get();
  fixed.activations.upload(drawn_activations(kElements, Filling::kRandom, draw), stream);
  fixed.logical_counts.fill_bytes(0, stream);
  fixed.slot_counts.fill_bytes(0, stream);
  const GraphExec replay(Graph::capture(
      [&](cudaStream_t captured) { stage<std::int64_t>(arguments_of(fixed), captured); }));
  std::vector<std::int32_t> logical_counts(kExperts, 0);
  std::vector<std::int32_t> slot_counts(kSlots, 0);
  for (int round = 0; round < kReplays; ++round) {
    const LayerMap map = draw_map(shape_of(kExperts, kSlots), draw);
    const LayerMapUpdate update{.layer = LayerId{0}, .map = &map};
    fixed.maps.update({&update, 1});
    const RoutingCase routing = drawn_replay(map, draw);
    put(fixed, routing);
    replay.launch(stream);
    const RoutingOutcome expected = expected_routing(routing);
    add(logical_counts, expected.logical_counts);
    add(slot_counts, expected.slot_counts);
    const std::string what = "staging replay " + std::to_string(round);
    checks.expect_equal<std::int64_t>(fixed.slot_ids.download(stream), expected.slot_ids,
                                      what + " slots");
    checks.expect_equal<float>(fixed.staged_weights.download(stream), expected.weights,
                               what + " weights");
    checks.expect_equal<std::int32_t>(fixed.logical_counts.download(stream), logical_counts,
                                      what + " counts");
    checks.expect_equal<std::int32_t>(fixed.slot_counts.download(stream), slot_counts,
                                      what + " slot counts");
  }
}

}  // namespace eplb::gpu::test
