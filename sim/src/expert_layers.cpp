#include "eplb/sim/expert_layers.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace eplb::sim {

struct ExpertLayers::Layer {
  std::int32_t index;
  std::int32_t block_rows;
  std::span<const std::int64_t> slots;  ///< Tokens of each.
};

ExpertLayers::ExpertLayers(const Options& options) : options_(options), dealer_(options.dealer) {
  if (!is_even(options.dealer.choice)) {
    exact_.emplace(ExactSplit::Options{.rank_count = options.shape.rank_count,
                                       .slots_per_rank = options.shape.slots_per_rank()});
    exact_slots_.resize(static_cast<std::size_t>(options.shape.slot_count()));
  }
}

void ExpertLayers::deal(std::span<const std::int64_t> counts, const LayerMap& map,
                        std::int32_t group_layer, Tally& tally) {
  const std::span<std::int64_t> slots(tally.slot_loads.row(group_layer).data(),
                                      static_cast<std::size_t>(tally.slot_loads.cols()));
  if (exact_.has_value()) {
    tally.least_max_loads[static_cast<std::size_t>(group_layer)] =
        exact_->deal(counts, map, exact_slots_);
  }
  if (options_.dealer.choice == ReplicaChoice::kExact) {
    std::ranges::copy(exact_slots_, slots.begin());
  } else {
    dealer_.deal(counts, map, slots);
  }
}

ExpertLayerParts ExpertLayers::slowest_rank(const Layer& layer, const Rows& rows,
                                            Tally& tally) const {
  const auto slots_per_rank = static_cast<std::size_t>(options_.shape.slots_per_rank());
  ExpertLayerParts slowest;
  double slowest_ns = 0;
  for (std::int32_t rank = 0; rank < options_.shape.rank_count; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    ExpertLayerFeatures features =
        features_of(layer.slots.subspan(at * slots_per_rank, slots_per_rank), layer.block_rows);
    features.sent_rows = rows.by_rank[at] * options_.top_k;
    tally.rank_loads(layer.index, rank) = features.assignments;
    ExpertLayerParts parts = expert_layer_parts(options_.cost, features);
    parts.wire_ns *= rows.wire_factors.empty() ? 1 : rows.wire_factors[at];
    if (longest_expert_layer_ns(options_.cost, parts) <= slowest_ns) {
      continue;
    }
    if (const double rank_ns = expert_layer_ns(options_.cost, parts); rank_ns > slowest_ns) {
      slowest_ns = rank_ns;
      slowest = parts;
    }
  }
  return slowest;
}

std::int64_t ExpertLayers::run(const LoadMatrix& counts, const Span& span,
                               const SimMapPublisher& maps, const Rows& rows, Tally& tally) {
  const std::int64_t row_count =
      std::accumulate(rows.by_rank.begin(), rows.by_rank.end(), std::int64_t{0});
  // The kernel knows slots, not logical experts.
  const std::int32_t block_rows =
      block_rows_for(static_cast<double>(row_count * options_.top_k) / options_.shape.slot_count());
  dealer_.set_row_count(row_count);
  std::int64_t duration_ns = 0;
  for (std::int32_t offset = 0; offset < span.layer_count; ++offset) {
    const std::int32_t index = span.first_group_layer + offset;
    const std::span<const std::int64_t> layer_counts(
        counts.row(span.first_count_row + offset).data(), static_cast<std::size_t>(counts.cols()));
    deal(layer_counts, maps.map(LayerId{index}), index, tally);
    const std::span<const std::int64_t> slots(tally.slot_loads.row(index).data(),
                                              static_cast<std::size_t>(tally.slot_loads.cols()));
    const ExpertLayerParts slowest =
        slowest_rank({.index = index, .block_rows = block_rows, .slots = slots}, rows, tally);
    tally.weights_ns += slowest.weights_ns;
    tally.wire_ns += slowest.wire_ns;
    duration_ns += std::llround(expert_layer_ns(options_.cost, slowest));
  }
  return duration_ns;
}

}  // namespace eplb::sim
