#include "eplb/sim/expert_layers.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace eplb::sim {

ExpertLayers::ExpertLayers(const Options& options) : options_(options), dealer_(options.dealer) {}

std::int64_t ExpertLayers::run(const LoadMatrix& counts, const Span& span,
                               const SimMapPublisher& maps, Tally& tally) {
  const Shape& shape = options_.shape;
  const auto slots_per_rank = static_cast<std::size_t>(shape.slots_per_rank());
  std::int64_t duration_ns = 0;
  for (std::int32_t index = 0; index < span.layer_count; ++index) {
    const std::int32_t layer = span.first_group_layer + index;
    const std::span<const std::int64_t> layer_counts(
        counts.row(span.first_count_row + index).data(), static_cast<std::size_t>(counts.cols()));
    const std::span<std::int64_t> slots(tally.slot_loads.row(layer).data(),
                                        static_cast<std::size_t>(tally.slot_loads.cols()));
    dealer_.deal(layer_counts, maps.map(LayerId{layer}), slots);
    double slowest_ns = 0;
    for (std::int32_t rank = 0; rank < shape.rank_count; ++rank) {
      const ExpertLayerFeatures features = features_of(
          slots.subspan(static_cast<std::size_t>(rank) * slots_per_rank, slots_per_rank),
          options_.block_rows);
      tally.rank_loads(layer, rank) = features.assignments;
      slowest_ns = std::max(slowest_ns, expert_layer_ns(options_.cost, features));
    }
    duration_ns += std::llround(slowest_ns);
  }
  return duration_ns;
}

}  // namespace eplb::sim
