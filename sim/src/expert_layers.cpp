#include "eplb/sim/expert_layers.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace eplb::sim {

ExpertLayers::ExpertLayers(const Options& options) : options_(options), dealer_(options.dealer) {}

std::int64_t ExpertLayers::run(const LoadMatrix& counts, const Span& span,
                               const SimMapPublisher& maps, std::span<const double> wire_factors,
                               Tally& tally) {
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
    ExpertLayerFeatures slowest;
    double slowest_factor = 1;
    ExpertLayerCost cost = options_.cost;
    for (std::int32_t rank = 0; rank < shape.rank_count; ++rank) {
      const ExpertLayerFeatures features = features_of(
          slots.subspan(static_cast<std::size_t>(rank) * slots_per_rank, slots_per_rank),
          options_.block_rows);
      tally.rank_loads(layer, rank) = features.assignments;
      const double factor = wire_factors.empty() ? 1 : wire_factors[static_cast<std::size_t>(rank)];
      cost.ns_per_assignment = options_.cost.ns_per_assignment * factor;
      const double rank_ns = expert_layer_ns(cost, features);
      if (rank_ns > slowest_ns) {
        slowest_ns = rank_ns;
        slowest = features;
        slowest_factor = factor;
      }
    }
    tally.weights_ns +=
        options_.cost.ns_per_touched_expert * static_cast<double>(slowest.touched_experts);
    tally.wire_ns +=
        options_.cost.ns_per_assignment * slowest_factor * static_cast<double>(slowest.assignments);
    duration_ns += std::llround(slowest_ns);
  }
  return duration_ns;
}

}  // namespace eplb::sim
