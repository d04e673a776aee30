#include "device_look.hpp"

#include <algorithm>
#include <utility>

#include "eplb/core/placement.hpp"
#include "eplb/gpu/bounded_wait.hpp"
#include "eplb/gpu/memory/row_digest.hpp"
#include "eplb/gpu/run/map_check.hpp"
#include "eplb/gpu/stream.hpp"

namespace eplb::gpu::test {
namespace {

std::size_t places(const Shape& shape) {
  return static_cast<std::size_t>(shape.layer_count) *
         static_cast<std::size_t>(shape.slots_per_rank());
}

void wait_for(cudaStream_t stream) {
  const Event end;
  end.record(stream);
  wait_for_device("a look at the device has not ended", [&] { return end.is_past(); });
}

/// The slots that entries give to an expert; none if they count more than they have room for.
std::vector<MapEntry> slots_of(std::span<const MapEntry> entries, std::int32_t tail_width,
                               std::int32_t expert_count, std::int32_t expert) {
  const auto tail_entries = static_cast<std::size_t>(tail_width);
  const std::size_t head = static_cast<std::size_t>(expert) * kHeadEntries;
  const std::size_t tail =
      map_entries(expert_count, 0) + static_cast<std::size_t>(expert) * tail_entries;
  const auto in_head = entries.subspan(head + kHeadSlotsBegin, kHeadSlots);
  const auto in_tail = entries.subspan(tail, tail_entries);
  std::vector<MapEntry> slots(in_head.begin(), in_head.end());
  slots.insert(slots.end(), in_tail.begin(), in_tail.end());
  const std::size_t count = entries[head + kHeadSlotsBegin - 1];
  slots.resize(count <= slots.size() ? count : 0);
  return slots;
}

}  // namespace

std::optional<LayerMap> map_in(std::span<const MapEntry> entries, std::int32_t tail_width,
                               const Shape& shape) {
  std::vector<LogicalExpertId> occupants(static_cast<std::size_t>(shape.slot_count()), kNoExpert);
  for (std::int32_t expert = 0; expert < shape.expert_count; ++expert) {
    for (const MapEntry slot : slots_of(entries, tail_width, shape.expert_count, expert)) {
      if (slot >= occupants.size()) {
        return std::nullopt;
      }
      occupants[slot] = LogicalExpertId{expert};
    }
  }
  const Result<LayerPlacement> placement = LayerPlacement::create(shape, std::move(occupants));
  if (!placement) {
    return std::nullopt;
  }
  const LayerMap map = LayerMap::from(*placement);
  return std::ranges::equal(entries_of(map, tail_width), entries) ? std::optional(map)
                                                                  : std::nullopt;
}

std::optional<LayerMap> read_map(const LayerMapView& view, const Shape& shape,
                                 cudaStream_t stream) {
  const PinnedBuffer<MapEntry> entries(map_entries(view.expert_count, view.tail_width));
  EPLB_CUDA(cudaMemcpyAsync(entries.data(), view.heads, entries.size() * sizeof(MapEntry),
                            cudaMemcpyDeviceToHost, stream));
  wait_for(stream);
  return map_in(entries.span(), view.tail_width, shape);
}

SlotLook::SlotLook(const Shape& shape)
    : experts_(places(shape)), found_(places(shape)), expected_(places(shape)) {}

std::vector<SlotPlace> SlotLook::differing(std::span<const LayerWeights> layers,
                                           const LoadMatrix& experts, cudaStream_t stream) {
  const auto slots = static_cast<std::size_t>(experts.cols());
  const DigestOptions options{.row_count = static_cast<std::int32_t>(slots)};
  std::ranges::transform(std::span(experts.data(), experts_.size()), experts_.data(),
                         [](std::int64_t expert) { return static_cast<std::int32_t>(expert); });
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    const std::size_t first = layer * slots;
    digest_rows(layers[layer].tensors(), options, found_.data() + first, stream);
    digest_expected(layers[layer].tensors(), LayerId{static_cast<std::int32_t>(layer)},
                    experts_.data() + first, options, expected_.data() + first, stream);
  }
  found_.fetch(stream);
  expected_.fetch(stream);
  wait_for(stream);
  std::vector<SlotPlace> differing;
  for (std::size_t place = 0; place < found_.size(); ++place) {
    if (experts_.span()[place] >= 0 && found_.fetched()[place] != expected_.fetched()[place]) {
      differing.push_back({.layer = LayerId{static_cast<std::int32_t>(place / slots)},
                           .slot = LocalSlot{static_cast<std::int32_t>(place % slots)}});
    }
  }
  return differing;
}

}  // namespace eplb::gpu::test
