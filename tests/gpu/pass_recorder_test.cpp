// Goal: what a forward counted while the gate was open reaches the host, pass by pass, and a dummy
// step's does not. Method: drawn picks of three layers over 30 steps, the gate flipped and steps
// dropped at random, each read-back against the reference.
#include "eplb/gpu/pass_recorder.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "eplb/gpu/device_maps.hpp"
#include "eplb/gpu/map_and_record.hpp"
#include "kernel_cases.hpp"
#include "reference/finish_pass_reference.hpp"
#include "reference/map_and_record_reference.hpp"
#include "workload.hpp"

namespace eplb::gpu::test {
namespace {

constexpr std::int32_t kLayers = 3;
constexpr std::int32_t kRows = 135;
constexpr std::int32_t kTopK = 6;

struct Counted {
  std::vector<std::int32_t> logical;
  std::vector<std::int32_t> slots;
};

/// One forward: every layer maps and records. Returns what it should count.
Counted run_forward(const PassRecorder& recorder, const DeviceMaps& maps, const LayerMap& map,
                    const DeviceBuffer<std::int64_t>& ids, bool is_recording, cudaStream_t stream,
                    Draw& draw) {
  Counted counted;
  for (std::int32_t layer = 0; layer < kLayers; ++layer) {
    MapCase map_case;
    map_case.logical_ids = draw_picks({.row_count = kRows,
                                       .top_k = kTopK,
                                       .expert_count = map.expert_count(),
                                       .skew = Skew::kZipf},
                                      draw);
    map_case.top_k = kTopK;
    map_case.map = &map;
    map_case.layer = static_cast<std::uint32_t>(layer);
    map_case.is_recording = is_recording;
    map_case.slot_count = 400;
    ids.upload(map_case.logical_ids, stream);
    map_and_record<std::int64_t>(
        {.logical_ids = ids.data(),
         .slot_ids = ids.data(),
         .row_count = kRows,
         .top_k = kTopK,
         .mapping = {.map = maps.view(LayerId{layer}),
                     .layer = map_case.layer,
                     .record_gate = recorder.record_gate(),
                     .logical_counts = recorder.logical_counts(LayerId{layer}),
                     .slot_counts = recorder.slot_counts(LayerId{layer}),
                     .slot_count = map_case.slot_count}},
        stream);
    const MapOutcome outcome = map_and_record_reference(map_case);
    counted.logical.insert(counted.logical.end(), outcome.logical_counts.begin(),
                           outcome.logical_counts.end());
    counted.slots.insert(counted.slots.end(), outcome.slot_counts.begin(),
                         outcome.slot_counts.end());
  }
  return counted;
}

void compare_steps(Checks& checks, bool counts_slots, Draw& draw) {
  constexpr int kSteps = 30;
  const Stream stream;
  Shape shape = shape_of(384, 400);
  const LayerMap map = draw_map(shape, draw);
  shape.layer_count = kLayers;
  DeviceMaps maps({.shape = shape}, stream.get());
  std::vector<LayerMapUpdate> updates(kLayers);
  for (std::int32_t layer = 0; layer < kLayers; ++layer) {
    updates[static_cast<std::size_t>(layer)] = {.layer = LayerId{layer}, .map = &map};
  }
  maps.update(updates, stream.get());
  PassRecorder recorder({.shape = shape, .counts_slots = counts_slots}, stream.get());
  const DeviceBuffer<std::int64_t> ids(std::size_t{kRows} * kTopK);

  for (int step = 0; step < kSteps; ++step) {
    const bool is_recording = draw.chance(0.7);
    recorder.set_recording(is_recording, stream.get());
    const Counted counted = run_forward(recorder, maps, map, ids, is_recording, stream.get(), draw);
    if (draw.chance(0.3)) {
      recorder.end_pass(PassRecorder::Ending::kDrop, stream.get());
      continue;
    }
    recorder.end_pass(PassRecorder::Ending::kRead, stream.get());
    if (draw.chance(0.3)) {
      continue;  // Nobody looks at this one: the next must still be right.
    }
    recorder.wait_read();
    const std::string what = "step " + std::to_string(step);
    checks.expect(recorder.is_read(), what + " is read");
    checks.expect_equal<std::int32_t>(recorder.read_counts(), counted.logical, what + " counts");
    const std::vector<std::int32_t> loads =
        rank_loads_reference(counted.slots, shape.slots_per_rank());
    checks.expect_equal<std::int32_t>(recorder.read_rank_loads(),
                                      counts_slots ? loads : std::vector<std::int32_t>{},
                                      what + " rank loads");
  }
  stream.synchronize();
  recorder.wait_read();
}

}  // namespace

void test_pass_recorder(Checks& checks, const Setting& setting) {
  Draw draw(setting.seed);
  compare_steps(checks, false, draw);
  compare_steps(checks, true, draw);
}

}  // namespace eplb::gpu::test
