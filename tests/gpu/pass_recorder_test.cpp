// Goal: what a forward counted while the gate was open reaches the host, pass by pass and in order,
// and a dropped one's does not. Method: drawn picks of three layers over 60 steps, the gate
// flipped, steps dropped and read-backs left lying at random, each that is taken against the
// reference.
#include "eplb/gpu/pass_recorder.hpp"

#include <deque>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "eplb/gpu/device_maps.hpp"
#include "eplb/gpu/map_and_record.hpp"
#include "kernel_cases.hpp"
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

/// A pass that was read back, by what the reference counts.
struct Expected {
  std::string what;
  Counted counted;
  bool has_slots;
};

void take_oldest(Checks& checks, PassRecorder& recorder, std::deque<Expected>& expected) {
  const Expected oldest = expected.front();
  expected.pop_front();
  const std::optional<PassRecorder::Counts> counts = recorder.landed();
  checks.expect(counts.has_value(), oldest.what + " has landed");
  if (!counts) {
    return;
  }
  checks.expect_equal<std::int32_t>(counts->logical, oldest.counted.logical,
                                    oldest.what + " counts");
  checks.expect_equal<std::int32_t>(
      counts->slots, oldest.has_slots ? oldest.counted.slots : std::vector<std::int32_t>{},
      oldest.what + " counts by slot");
  recorder.take_off();
}

PassRecorder::Reading drawn_reading(Draw& draw) {
  if (draw.chance(0.3)) {
    return PassRecorder::Reading::kNothing;
  }
  return draw.chance(0.5) ? PassRecorder::Reading::kLogical
                          : PassRecorder::Reading::kLogicalAndSlots;
}

bool refuses_to_read(PassRecorder& recorder, cudaStream_t stream) {
  try {
    recorder.end_pass(PassRecorder::Reading::kLogical, stream);
  } catch (const std::logic_error&) {
    return true;
  }
  return false;
}

void compare_steps(Checks& checks, bool counts_slots, Draw& draw) {
  constexpr int kSteps = 60;
  const Stream stream;
  Shape shape = shape_of(384, 400);
  const LayerMap map = draw_map(shape, draw);
  shape.layer_count = kLayers;
  DeviceMaps maps({.shape = shape}, stream.get());
  std::vector<LayerMapUpdate> updates(kLayers);
  for (std::int32_t layer = 0; layer < kLayers; ++layer) {
    updates[static_cast<std::size_t>(layer)] = {.layer = LayerId{layer}, .map = &map};
  }
  maps.update(updates);
  PassRecorder recorder({.shape = shape, .counts_slots = counts_slots}, stream.get());
  const DeviceBuffer<std::int64_t> ids(std::size_t{kRows} * kTopK);
  std::deque<Expected> expected;
  int full_count = 0;

  for (int step = 0; step < kSteps; ++step) {
    const bool is_recording = draw.chance(0.7);
    recorder.set_recording(is_recording, stream.get());
    Counted counted = run_forward(recorder, maps, map, ids, is_recording, stream.get(), draw);
    const PassRecorder::Reading reading = drawn_reading(draw);
    recorder.end_pass(reading, stream.get());
    if (reading != PassRecorder::Reading::kNothing) {
      const bool has_slots = counts_slots && reading == PassRecorder::Reading::kLogicalAndSlots;
      expected.push_back({.what = "step " + std::to_string(step),
                          .counted = std::move(counted),
                          .has_slots = has_slots});
    }
    const bool is_full = !recorder.has_room();
    checks.expect(is_full == (expected.size() == PassRecorder::kReadBacksMax),
                  "four read-backs fill the recorder");
    if (is_full || draw.chance(0.2)) {
      EPLB_CUDA(cudaDeviceSynchronize());
      if (is_full) {
        ++full_count;
        checks.expect(refuses_to_read(recorder, stream.get()), "a full recorder refuses to read");
      }
      while (!expected.empty() && draw.chance(0.8)) {
        take_oldest(checks, recorder, expected);
      }
      if (!recorder.has_room()) {
        take_oldest(checks, recorder, expected);
      }
    }
  }
  checks.expect(full_count > 0, "the recorder was full now and then");
  EPLB_CUDA(cudaDeviceSynchronize());
  while (!expected.empty()) {
    take_oldest(checks, recorder, expected);
  }
  checks.expect(!recorder.landed().has_value(), "nothing is left");
}

}  // namespace

void test_pass_recorder(Checks& checks, const Setting& setting) {
  Draw draw(setting.seed);
  compare_steps(checks, false, draw);
  compare_steps(checks, true, draw);
}

}  // namespace eplb::gpu::test
