#include <algorithm>
#include <string>
#include <vector>

#include "eplb/gpu/buffer.hpp"
#include "eplb/gpu/device_maps.hpp"
#include "eplb/gpu/pass_recorder.hpp"
#include "eplb/gpu/step.hpp"
#include "eplb/gpu/stream.hpp"
#include "report.hpp"
#include "workload.hpp"

namespace eplb::gpu::bench {

void bench_step(Report& report) {
  constexpr std::int32_t kLayers = 58;
  constexpr std::int32_t kExperts = 256;
  constexpr std::int32_t kSlots = 288;
  const Stream stream;
  for (const bool has_slots : {false, true}) {
    const std::int32_t counter_count = kLayers * (kExperts + (has_slots ? kSlots : 0));
    constexpr std::int32_t kStriped = kLayers * kExperts;
    constexpr std::int32_t kStripes = PassRecorder::kStripes;
    const DeviceBuffer<std::int32_t> pass(
        static_cast<std::size_t>(counter_count + (kStripes - 1) * kStriped));
    const DeviceBuffer<std::int32_t> snapshot(static_cast<std::size_t>(counter_count));
    pass.fill_bytes(1, stream.get());
    stream.synchronize();
    StepArguments arguments{.counter_count = counter_count,
                            .stripe_count = kStripes,
                            .striped_count = kStriped,
                            .pass_counts = pass.data(),
                            .snapshot_counts = snapshot.data()};
    constexpr std::int32_t kRankSums = kLayers * 32;
    const DeviceBuffer<std::int32_t> sums(kRankSums);
    if (has_slots) {
      arguments.rank_sum_count = kRankSums;
      arguments.slots_per_rank = 9;
      arguments.rank_sums = sums.data();
    }
    report.add(
        {.name = "finish_pass",
         .variant =
             std::string("58 x 256") + (has_slots ? " and 58 x 288 with sums of 32 ranks" : ""),
         .timing = time_launches([&](cudaStream_t captured) { finish_pass(arguments, captured); }),
         .moved_bytes = static_cast<double>(2 * pass.bytes() + snapshot.bytes())});
  }
}

void bench_map_update(Report& report) {
  constexpr std::int32_t kUpdated = 8;
  for (const std::int32_t replica_count_max : {0, 3}) {
    const Stream stream;
    Shape shape = test::shape_of(256, 288);
    shape.layer_count = 58;
    const auto width = static_cast<std::int32_t>(staged_width(256, 288, false));
    const std::int32_t tail_width =
        tail_width_for(replica_count_max == 0 ? LayerMap::slots_width(shape) : replica_count_max);
    // The placement that a loader fills: the same bytes as any other with as many slots.
    const LayerMap map = LayerMap::from(LayerPlacement::initial(shape));
    std::vector<std::int32_t> staged;
    for (std::int32_t update = 0; update < kUpdated; ++update) {
      staged.push_back(update * 7);
      std::vector<std::int32_t> slots;
      for (std::int32_t expert = 0; expert < 256; ++expert) {
        staged.push_back(static_cast<std::int32_t>(slots.size()));
        const auto held = map.slots(LogicalExpertId{expert});
        slots.insert(slots.end(), held.begin(), held.end());
      }
      staged.push_back(static_cast<std::int32_t>(slots.size()));
      staged.insert(staged.end(), slots.begin(), slots.end());
    }
    const PinnedBuffer<std::int32_t> host_staged(staged.size());
    const DeviceBuffer<std::int32_t> device_staged(staged.size());
    const DeviceBuffer<MapEntry> maps(58 * map_entries(256, tail_width));
    std::copy(staged.begin(), staged.end(), host_staged.span().begin());
    device_staged.upload(staged, stream.get());
    const MapUpdateArguments arguments{.staged = device_staged.data(),
                                       .updated_layer_count = kUpdated,
                                       .maps = maps.data(),
                                       .expert_count = 256,
                                       .slot_count = width - 256 - 2,
                                       .tail_width = tail_width};
    const std::string variant =
        "8 layers of 256/288, up to " + std::to_string(tail_width + kHeadSlots);
    const double block_bytes = 2.0 * kUpdated * static_cast<double>(map_entries(256, tail_width));
    report.add(
        {.name = "unpack_maps",
         .variant = variant,
         .timing = time_launches([&](cudaStream_t captured) { unpack_maps(arguments, captured); }),
         .moved_bytes = block_bytes + static_cast<double>(device_staged.bytes())});
    report.add({.name = "staging copy",
                .variant = variant,
                .timing = time_launches([&](cudaStream_t captured) {
                  EPLB_CUDA(cudaMemcpyAsync(device_staged.data(), host_staged.data(),
                                            device_staged.bytes(), cudaMemcpyHostToDevice,
                                            captured));
                })});
    MapUpdateArguments from_host = arguments;
    from_host.staged = host_staged.data();
    report.add({.name = "unpack_maps, host",
                .variant = variant,
                .timing = time_launches(
                    [&](cudaStream_t captured) { unpack_maps(from_host, captured); })});
  }
}

}  // namespace eplb::gpu::bench
