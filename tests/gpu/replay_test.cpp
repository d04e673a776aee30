// Goal: one graph of a forward serves for ever, while its ids, gate, padding and maps change
// between replays at their fixed addresses. Method: two layers (one of int32, one of int64 ids) map
// and record into one pass, which the step kernel ends; all of it captured once, replayed 40 times
// with whatever was drawn changed in between, every output compared with the references.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "eplb/gpu/buffer.hpp"
#include "eplb/gpu/device_maps.hpp"
#include "eplb/gpu/graph.hpp"
#include "eplb/gpu/map_and_record.hpp"
#include "eplb/gpu/step.hpp"
#include "eplb/gpu/stream.hpp"
#include "kernel_cases.hpp"
#include "reference/map_and_record_reference.hpp"
#include "workload.hpp"

namespace eplb::gpu::test {
namespace {

constexpr std::int32_t kLayers = 2;
constexpr std::int32_t kExperts = 256;
constexpr std::int32_t kSlots = 288;
constexpr std::int32_t kRows = 434;
constexpr std::int32_t kTopK = 8;
constexpr std::size_t kCounters = std::size_t{kLayers} * (kExperts + kSlots);
constexpr std::size_t kIds = static_cast<std::size_t>(kRows) * kTopK;

Shape shape_of_layers() {
  Shape shape = shape_of(kExperts, kSlots);
  shape.layer_count = kLayers;
  return shape;
}

/// What stays at its address for the life of the graph.
struct Forward {
  Stream stream;
  DeviceMaps maps{{.shape = shape_of_layers()}, stream.get()};
  DeviceBuffer<std::int32_t> narrow_ids{kIds};
  DeviceBuffer<std::int64_t> wide_ids{kIds};
  DeviceBuffer<std::int32_t> narrow_slots{kIds};
  DeviceBuffer<std::int64_t> wide_slots{kIds};
  DeviceBuffer<std::int32_t> record_gate{1};
  DeviceBuffer<std::int32_t> unpadded_row_count{1};
  DeviceBuffer<std::uint8_t> is_padding{kRows};
  DeviceBuffer<std::int32_t> pass{kCounters};  // By expert in all layers, then by slot.
  DeviceBuffer<std::int32_t> snapshot{kCounters};
};

template <typename Id>
void enqueue_layer(const Forward& forward, std::int32_t layer, const DeviceBuffer<Id>& ids,
                   const DeviceBuffer<Id>& slots, cudaStream_t stream) {
  map_and_record<Id>(
      {.logical_ids = ids.data(),
       .slot_ids = slots.data(),
       .row_count = kRows,
       .top_k = kTopK,
       .mapping = {.map = forward.maps.view(LayerId{layer}),
                   .choice = ReplicaChoice::kSalted,
                   .rank = 3,
                   .layer = static_cast<std::uint32_t>(layer),
                   .record_gate = forward.record_gate.data(),
                   .unpadded_row_count = forward.unpadded_row_count.data(),
                   .logical_counts = forward.pass.data() + std::ptrdiff_t{layer} * kExperts,
                   .slot_counts = forward.pass.data() + std::ptrdiff_t{kLayers} * kExperts +
                                  std::ptrdiff_t{layer} * kSlots,
                   .slot_count = kSlots},
       .is_padding = forward.is_padding.data()},
      stream);
}

void enqueue_forward(const Forward& forward, cudaStream_t stream) {
  enqueue_layer(forward, 0, forward.narrow_ids, forward.narrow_slots, stream);
  enqueue_layer(forward, 1, forward.wide_ids, forward.wide_slots, stream);
  finish_pass({.counter_count = static_cast<std::int32_t>(kCounters),
               .pass_counts = forward.pass.data(),
               .snapshot_counts = forward.snapshot.data()},
              stream);
}

/// What the next replay finds at the fixed addresses.
struct World {
  std::vector<LayerMap> maps;
  std::array<MapCase, kLayers> cases;
};

template <typename Id>
void upload_ids(const DeviceBuffer<Id>& buffer, const std::vector<std::int64_t>& values,
                cudaStream_t stream) {
  std::vector<Id> ids(values.size());
  std::ranges::transform(values, ids.begin(), [](std::int64_t id) { return static_cast<Id>(id); });
  buffer.upload(ids, stream);
}

void change_maps(World& world, Forward& forward, Draw& draw) {
  std::vector<LayerMapUpdate> updates;
  for (std::size_t layer = 0; layer < kLayers; ++layer) {
    if (draw.chance(0.5)) {
      world.maps[layer] = draw_map(shape_of(kExperts, kSlots), draw);
      updates.push_back(
          {.layer = LayerId{static_cast<std::int32_t>(layer)}, .map = &world.maps[layer]});
    }
  }
  forward.maps.update(updates);
}

void change_inputs(World& world, const Forward& forward, Draw& draw) {
  cudaStream_t stream = forward.stream.get();
  const bool is_recording = draw.chance(0.6);
  const std::int32_t unpadded_row_count = draw.below(kRows + 1);
  std::vector<std::uint8_t> is_padding(kRows);
  std::ranges::generate(is_padding,
                        [&] { return static_cast<std::uint8_t>(draw.chance(0.2) ? 1 : 0); });
  forward.record_gate.upload(std::vector<std::int32_t>{is_recording ? 1 : 0}, stream);
  forward.unpadded_row_count.upload(std::vector<std::int32_t>{unpadded_row_count}, stream);
  forward.is_padding.upload(is_padding, stream);
  for (std::size_t layer = 0; layer < kLayers; ++layer) {
    const Skew skew = kSkews[static_cast<std::size_t>(draw.below(kSkews.size()))];
    MapCase& map_case = world.cases[layer];
    map_case = {
        .logical_ids = draw_picks(
            {.row_count = kRows, .top_k = kTopK, .expert_count = kExperts, .skew = skew}, draw),
        .top_k = kTopK,
        .map = &world.maps[layer],
        .choice = ReplicaChoice::kSalted,
        .rank = 3,
        .layer = static_cast<std::uint32_t>(layer),
        .is_recording = is_recording,
        .unpadded_row_count = unpadded_row_count,
        .is_padding = is_padding,
        .slot_count = kSlots};
    spoil_picks(map_case.logical_ids, kExperts, layer == 0, draw);
  }
  upload_ids(forward.narrow_ids, world.cases[0].logical_ids, stream);
  upload_ids(forward.wide_ids, world.cases[1].logical_ids, stream);
}

void poison_outputs(const Forward& forward) {
  constexpr std::uint8_t kPoison = 0xA5;
  cudaStream_t stream = forward.stream.get();
  forward.narrow_slots.fill_bytes(kPoison, stream);
  forward.wide_slots.fill_bytes(kPoison, stream);
  forward.snapshot.fill_bytes(kPoison, stream);
}

template <typename T>
void append(std::vector<T>& all, const std::vector<T>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

void compare(Checks& checks, const World& world, const Forward& forward, const std::string& what) {
  cudaStream_t stream = forward.stream.get();
  std::vector<std::int64_t> slot_ids;
  std::vector<std::int32_t> counts;
  std::vector<std::int32_t> slot_counts;
  for (const MapCase& map_case : world.cases) {
    const MapOutcome outcome = map_and_record_reference(map_case);
    append(slot_ids, outcome.slot_ids);
    append(counts, outcome.logical_counts);
    append(slot_counts, outcome.slot_counts);
  }
  const std::vector<std::int32_t> narrow = forward.narrow_slots.download(stream);
  std::vector<std::int64_t> actual_ids(narrow.begin(), narrow.end());
  append(actual_ids, forward.wide_slots.download(stream));
  checks.expect_equal<std::int64_t>(actual_ids, slot_ids, what + "slots");
  append(counts, slot_counts);
  checks.expect_equal<std::int32_t>(forward.snapshot.download(stream), counts, what + "snapshot");
  checks.expect_equal<std::int32_t>(forward.pass.download(stream),
                                    std::vector<std::int32_t>(counts.size(), 0),
                                    what + "pass cleared");
}

}  // namespace

void test_replay(Checks& checks, const Setting& setting) {
  Draw draw(setting.seed);
  constexpr int kReplays = 40;
  Forward forward;
  cudaStream_t stream = forward.stream.get();
  World world;
  std::vector<LayerMapUpdate> updates;
  updates.reserve(kLayers);
  world.maps.reserve(kLayers);  // Updates point at them.
  for (std::int32_t layer = 0; layer < kLayers; ++layer) {
    world.maps.push_back(draw_map(shape_of(kExperts, kSlots), draw));
  }
  for (std::int32_t layer = 0; layer < kLayers; ++layer) {
    updates.push_back(
        {.layer = LayerId{layer}, .map = &world.maps[static_cast<std::size_t>(layer)]});
  }
  forward.maps.update(updates);
  forward.pass.fill_bytes(0, stream);
  const GraphExec replay(
      Graph::capture([&](cudaStream_t captured) { enqueue_forward(forward, captured); }));
  for (int round = 0; round < kReplays; ++round) {
    change_maps(world, forward, draw);
    change_inputs(world, forward, draw);
    poison_outputs(forward);
    replay.launch(stream);
    compare(checks, world, forward, "replay " + std::to_string(round) + ": ");
  }
}

}  // namespace eplb::gpu::test
