#include "drawn_forward.hpp"

#include <algorithm>
#include <utility>

#include "eplb/gpu/map_and_record.hpp"
#include "reference/map_and_record_reference.hpp"
#include "workload.hpp"

namespace eplb::gpu::test {
namespace {

constexpr std::int32_t kRows = 64;
constexpr std::int32_t kTopK = 4;
constexpr std::size_t kPicks = std::size_t{kRows} * kTopK;

}  // namespace

DrawnForward::DrawnForward(const Shape& shape, Draw& draw, cudaStream_t stream)
    : shape_(shape), slot_ids_(kPicks) {
  const auto count = static_cast<std::size_t>(kKinds) * static_cast<std::size_t>(shape.layer_count);
  picks_.reserve(count);
  ids_.reserve(count);
  for (std::size_t index = 0; index < count; ++index) {
    picks_.push_back(draw_picks({.row_count = kRows,
                                 .top_k = kTopK,
                                 .expert_count = shape.expert_count,
                                 .skew = Skew::kZipf},
                                draw));
    ids_.emplace_back(kPicks);
    ids_.back().upload(picks_.back(), stream);
  }
}

std::size_t DrawnForward::index_of(std::int32_t kind, std::int32_t layer) const {
  return static_cast<std::size_t>(kind) * static_cast<std::size_t>(shape_.layer_count) +
         static_cast<std::size_t>(layer);
}

void DrawnForward::launch(std::int32_t kind, const std::function<LayerMapping(LayerId)>& mapping_of,
                          cudaStream_t stream) const {
  for (std::int32_t layer = 0; layer < shape_.layer_count; ++layer) {
    map_and_record<std::int64_t>({.logical_ids = ids_[index_of(kind, layer)].data(),
                                  .slot_ids = slot_ids_.data(),
                                  .row_count = kRows,
                                  .top_k = kTopK,
                                  .mapping = mapping_of(LayerId{layer})},
                                 stream);
  }
}

PassCounts DrawnForward::counts(std::int32_t kind,
                                const std::function<LayerMapping(LayerId)>& mapping_of,
                                const std::vector<LayerMap>& maps) const {
  PassCounts counts{.logical = LoadMatrix::Zero(shape_.layer_count, shape_.expert_count),
                    .physical = LoadMatrix::Zero(shape_.layer_count, shape_.slot_count())};
  for (std::int32_t layer = 0; layer < shape_.layer_count; ++layer) {
    const LayerMapping mapping = mapping_of(LayerId{layer});
    MapCase map_case;
    map_case.logical_ids = picks_[index_of(kind, layer)];
    map_case.top_k = kTopK;
    map_case.map = &maps[static_cast<std::size_t>(layer)];
    map_case.choice = mapping.choice;
    map_case.rank = mapping.rank;
    map_case.layer = mapping.layer;
    map_case.slot_count = shape_.slot_count();
    const MapOutcome outcome = map_and_record_reference(map_case);
    std::ranges::copy(outcome.logical_counts, counts.logical.row(layer).data());
    std::ranges::copy(outcome.slot_counts, counts.physical.row(layer).data());
  }
  return counts;
}

std::vector<LayerMap> maps_of(const Placement& placement) {
  std::vector<LayerMap> maps;
  maps.reserve(placement.layers().size());
  for (const LayerPlacement& layer : placement.layers()) {
    maps.push_back(LayerMap::from(layer));
  }
  return maps;
}

}  // namespace eplb::gpu::test
