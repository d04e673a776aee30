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

/// The slots of an expert in a map's entries, heads and then tails; empty if there are more than
/// the map has room for.
std::vector<MapEntry> slots_of(std::span<const MapEntry> entries, const LayerMapView& view,
                               std::int32_t expert) {
  const auto head = static_cast<std::size_t>(expert) * kHeadEntries;
  const std::size_t tail =
      map_entries(view.expert_count, 0) +
      static_cast<std::size_t>(expert) * static_cast<std::size_t>(view.tail_width);
  const std::span<const MapEntry> in_head =
      entries.subspan(head, kHeadEntries).subspan(kHeadSlotsBegin);
  const std::span<const MapEntry> in_tail =
      entries.subspan(tail, static_cast<std::size_t>(view.tail_width));
  std::vector<MapEntry> slots(in_head.begin(), in_head.end());
  slots.insert(slots.end(), in_tail.begin(), in_tail.end());
  const std::size_t count = entries[head + kHeadSlotsBegin - 1];
  slots.resize(count <= slots.size() ? count : 0);
  return slots;
}

}  // namespace

std::optional<LayerMap> read_map(const LayerMapView& view, const Shape& shape,
                                 cudaStream_t stream) {
  PinnedBuffer<MapEntry> entries(map_entries(view.expert_count, view.tail_width));
  EPLB_CUDA(cudaMemcpyAsync(entries.data(), view.heads, entries.size() * sizeof(MapEntry),
                            cudaMemcpyDeviceToHost, stream));
  wait_for(stream);
  std::vector<LogicalExpertId> occupants(static_cast<std::size_t>(shape.slot_count()), kNoExpert);
  for (std::int32_t expert = 0; expert < view.expert_count; ++expert) {
    for (const MapEntry slot : slots_of(entries.span(), view, expert)) {
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
  LayerMap map = LayerMap::from(*placement);
  const std::vector<MapEntry> whole = entries_of(map, view.tail_width);
  return std::ranges::equal(whole, entries.span()) ? std::optional(std::move(map)) : std::nullopt;
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
  wait_for(stream);
  std::vector<SlotPlace> differing;
  for (std::size_t place = 0; place < found_.size(); ++place) {
    if (experts_.span()[place] >= 0 && found_.span()[place] != expected_.span()[place]) {
      differing.push_back({.layer = LayerId{static_cast<std::int32_t>(place / slots)},
                           .slot = LocalSlot{static_cast<std::int32_t>(place % slots)}});
    }
  }
  return differing;
}

}  // namespace eplb::gpu::test
