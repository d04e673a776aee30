// Goal: map_and_record gives the reference's slots and counts, bit for bit. Method: every size of
// the issue with every skew, id type and variant of the kernel; gates, masks, choice, alignment and
// aliasing drawn anew each time. Outputs are poisoned, counts start at drawn values, and the memory
// behind the ids must stay poisoned.
#include "eplb/gpu/map_and_record.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "eplb/gpu/buffer.hpp"
#include "eplb/gpu/device_maps.hpp"
#include "eplb/gpu/stream.hpp"
#include "kernel_cases.hpp"
#include "reference/map_and_record_reference.hpp"
#include "stripes.hpp"
#include "workload.hpp"

namespace eplb::gpu::test {
namespace {

constexpr std::array kRowCounts{0, 1, 7, 63, 64, 65, 127, 128, 135, 434, 16384};
constexpr std::array kTopKs{1, 6, 8};
constexpr std::size_t kIdsMax = std::size_t{16384} * 8;
constexpr std::size_t kGuardIds = 64;
constexpr std::uint8_t kPoison = 0xA5;

struct Sizes {
  std::int32_t expert_count;
  std::int32_t slot_count;
};

constexpr std::array kSizes{
    Sizes{.expert_count = 64, .slot_count = 64},   Sizes{.expert_count = 256, .slot_count = 288},
    Sizes{.expert_count = 384, .slot_count = 400}, Sizes{.expert_count = 384, .slot_count = 416},
    Sizes{.expert_count = 896, .slot_count = 960},
};

/// Device memory for any of the cases, so that none allocates its own.
struct Arena {
  Stream stream;
  DeviceBuffer<std::int64_t> logical_ids{kIdsMax + kGuardIds};
  DeviceBuffer<std::int64_t> slot_ids{kIdsMax + kGuardIds};
  DeviceBuffer<std::int32_t> logical_counts{std::size_t{kExpertsMax} * kStripesTried};
  DeviceBuffer<std::int32_t> slot_counts{kSlotsMax};
  DeviceBuffer<std::int32_t> record_gate{1};
  DeviceBuffer<std::int32_t> unpadded_row_count{1};
  DeviceBuffer<std::uint8_t> is_padding{16384};
};

/// How a case is put to the kernel, which must not alter what comes out.
struct Manner {
  MapLaunch launch;
  bool counts_slots = true;
  bool is_in_place = false;
  std::size_t id_offset = 0;  ///< In ids: 1 breaks the alignment of packs.
  bool has_gate = true;       ///< Else a null pointer, which must mean "open".
  std::int32_t stripe_count = 1;
};

template <typename T>
void put(const DeviceBuffer<T>& buffer, const std::vector<T>& values, cudaStream_t stream) {
  buffer.upload(values, stream);
}

std::vector<std::int32_t> drawn_counts(std::int32_t size, Draw& draw) {
  std::vector<std::int32_t> counts(static_cast<std::size_t>(size));
  std::ranges::generate(counts, [&] { return draw.below(1000); });
  return counts;
}

std::vector<std::int32_t> sum_of(std::vector<std::int32_t> left,
                                 const std::vector<std::int32_t>& right) {
  for (std::size_t index = 0; index < left.size(); ++index) {
    left[index] += right[index];
  }
  return left;
}

template <typename Id>
std::vector<Id> as_ids(const std::vector<std::int64_t>& values) {
  std::vector<Id> ids(values.size());
  std::ranges::transform(values, ids.begin(), [](std::int64_t id) { return static_cast<Id>(id); });
  return ids;
}

/// What must lie in the output buffer from its start to its guard.
template <typename Id>
std::vector<Id> framed(const std::vector<std::int64_t>& slot_ids, std::size_t offset) {
  Id poison{};
  std::memset(&poison, kPoison, sizeof(Id));
  std::vector<Id> frame(slot_ids.size() + offset + kGuardIds / 2, poison);
  std::ranges::copy(as_ids<Id>(slot_ids), frame.begin() + static_cast<std::ptrdiff_t>(offset));
  return frame;
}

template <typename T>
std::vector<T> head_of(const void* data, std::size_t size, cudaStream_t stream) {
  std::vector<T> values(size);
  if (size > 0) {
    EPLB_CUDA(
        cudaMemcpyAsync(values.data(), data, size * sizeof(T), cudaMemcpyDeviceToHost, stream));
    EPLB_CUDA(cudaStreamSynchronize(stream));
  }
  return values;
}

template <typename Id>
void compare(Checks& checks, const Arena& arena, const MapCase& map_case, const LayerMapView& map,
             const Manner& manner, Draw& draw, const std::string& what) {
  cudaStream_t stream = arena.stream.get();
  auto* logical_ids = reinterpret_cast<Id*>(arena.logical_ids.data()) + manner.id_offset;
  auto* slot_ids = reinterpret_cast<Id*>(arena.slot_ids.data()) + manner.id_offset;
  arena.logical_ids.fill_bytes(kPoison, stream);
  arena.slot_ids.fill_bytes(kPoison, stream);
  const std::vector<Id> ids = as_ids<Id>(map_case.logical_ids);
  if (!ids.empty()) {
    EPLB_CUDA(cudaMemcpyAsync(manner.is_in_place ? slot_ids : logical_ids, ids.data(),
                              ids.size() * sizeof(Id), cudaMemcpyHostToDevice, stream));
  }
  const auto expert_count = static_cast<std::size_t>(map.expert_count);
  const std::vector<std::int32_t> logical_before =
      drawn_counts(manner.stripe_count * map.expert_count, draw);
  const std::vector<std::int32_t> slots_before = drawn_counts(map_case.slot_count, draw);
  put(arena.logical_counts, logical_before, stream);
  put(arena.slot_counts, slots_before, stream);
  put(arena.record_gate, {map_case.is_recording ? 1 + draw.below(1000) : 0}, stream);
  put(arena.unpadded_row_count, {map_case.unpadded_row_count.value_or(0)}, stream);
  put(arena.is_padding, map_case.is_padding, stream);

  map_and_record<Id>(
      {.logical_ids = manner.is_in_place ? slot_ids : logical_ids,
       .slot_ids = slot_ids,
       .row_count = static_cast<std::int32_t>(ids.size()) / map_case.top_k,
       .top_k = map_case.top_k,
       .mapping = {.map = map,
                   .choice = map_case.choice,
                   .rank = map_case.rank,
                   .layer = map_case.layer,
                   .record_gate = manner.has_gate ? arena.record_gate.data() : nullptr,
                   .unpadded_row_count =
                       map_case.unpadded_row_count ? arena.unpadded_row_count.data() : nullptr,
                   .logical_counts = arena.logical_counts.data(),
                   .stripe_count = manner.stripe_count,
                   .stripe_stride = map.expert_count,
                   .slot_counts = manner.counts_slots ? arena.slot_counts.data() : nullptr,
                   .slot_count = map_case.slot_count},
       .is_padding = map_case.is_padding.empty() ? nullptr : arena.is_padding.data()},
      manner.launch, stream);

  const MapOutcome expected = map_and_record_reference(map_case);
  const std::vector<Id> frame = framed<Id>(expected.slot_ids, manner.id_offset);
  checks.expect_equal<Id>(head_of<Id>(arena.slot_ids.data(), frame.size(), stream), frame,
                          what + " slots");
  checks.expect_equal<std::int32_t>(
      folded(head_of<std::int32_t>(arena.logical_counts.data(), logical_before.size(), stream),
             expert_count),
      sum_of(folded(logical_before, expert_count), expected.logical_counts),
      what + " logical counts");
  checks.expect_equal<std::int32_t>(
      head_of<std::int32_t>(arena.slot_counts.data(), slots_before.size(), stream),
      manner.counts_slots ? sum_of(slots_before, expected.slot_counts) : slots_before,
      what + " slot counts");
}

MapCase drawn_case(const PickOptions& pick, const LayerMap& map, std::int32_t slot_count,
                   Draw& draw) {
  MapCase map_case;
  map_case.logical_ids = draw_picks(pick, draw);
  map_case.top_k = pick.top_k;
  map_case.map = &map;
  map_case.choice = draw_choice(draw);
  map_case.rank = static_cast<std::uint32_t>(draw.below(1024));
  map_case.layer = static_cast<std::uint32_t>(draw.below(128));
  map_case.is_recording = draw.chance(0.75);
  if (draw.chance(0.5)) {
    map_case.unpadded_row_count = draw.below(pick.row_count + 2) - 1;  // Below 0 and past the end.
  }
  if (draw.chance(0.5)) {
    map_case.is_padding.resize(static_cast<std::size_t>(pick.row_count));
    std::ranges::generate(map_case.is_padding, [&] {
      return static_cast<std::uint8_t>(draw.chance(0.3) ? 1 + draw.below(255) : 0);
    });
  }
  map_case.slot_count = slot_count;
  return map_case;
}

Manner drawn_manner(std::int32_t ids_per_thread, bool counts_slots, bool is_recording, Draw& draw) {
  constexpr std::array kBlockSizes{64, 256, 512, 1024};
  return {.launch = {.ids_per_thread = ids_per_thread,
                     .block_size =
                         kBlockSizes[static_cast<std::size_t>(draw.below(kBlockSizes.size()))]},
          .counts_slots = counts_slots,
          .is_in_place = draw.chance(0.3),
          .id_offset = draw.chance(0.3) ? 1U : 0U,
          .has_gate = !is_recording || draw.chance(0.7),
          .stripe_count = 1 + draw.below(kStripesTried)};
}

template <typename Id>
void compare_variants(Checks& checks, const Arena& arena, const PickOptions& pick, Sizes sizes,
                      Draw& draw) {
  const Shape shape = shape_of(sizes.expert_count, sizes.slot_count);
  const LayerMap map = draw_map(shape, draw);
  DeviceMaps device_maps({.shape = shape, .with_shares = true}, arena.stream.get());
  const LayerMapUpdate update{.layer = LayerId{0}, .map = &map};
  device_maps.update({&update, 1});
  for (const std::int32_t ids_per_thread : {1, 2, 4}) {
    for (const bool counts_slots : {false, true}) {
      MapCase map_case = drawn_case(pick, map, sizes.slot_count, draw);
      spoil_picks(map_case.logical_ids, sizes.expert_count, std::is_same_v<Id, std::int32_t>, draw);
      const Manner manner = drawn_manner(ids_per_thread, counts_slots, map_case.is_recording, draw);
      const std::string what = std::to_string(pick.row_count) + " x " + std::to_string(pick.top_k) +
                               " of " + std::to_string(sizes.expert_count) + "/" +
                               std::to_string(sizes.slot_count) + " " + name_of(pick.skew) +
                               " int" + std::to_string(8 * sizeof(Id)) + ", " +
                               std::to_string(ids_per_thread) + " a thread, blocks of " +
                               std::to_string(manner.launch.block_size) + ",";
      compare<Id>(checks, arena, map_case, device_maps.view(LayerId{0}), manner, draw, what);
    }
  }
}

}  // namespace

void test_map_and_record(Checks& checks, const Setting& setting) {
  Draw draw(setting.seed);
  const Arena arena;
  for (const std::int32_t row_count : kRowCounts) {
    if (row_count > setting.row_count_max) {
      continue;
    }
    for (const std::int32_t top_k : kTopKs) {
      for (const Sizes sizes : kSizes) {
        for (const Skew skew : kSkews) {
          const PickOptions pick{.row_count = row_count,
                                 .top_k = top_k,
                                 .expert_count = sizes.expert_count,
                                 .skew = skew};
          compare_variants<std::int32_t>(checks, arena, pick, sizes, draw);
          compare_variants<std::int64_t>(checks, arena, pick, sizes, draw);
        }
      }
    }
  }
}

}  // namespace eplb::gpu::test
