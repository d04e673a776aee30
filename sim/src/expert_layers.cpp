#include "eplb/sim/expert_layers.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace eplb::sim {

ExpertLayers::ExpertLayers(const Options& options)
    : options_(options),
      dealer_(options.dealer),
      tokens_per_slot_(static_cast<std::size_t>(options.shape.slot_count()), 0),
      rank_loads_(RankLoadMatrix::Zero(options.shape.layer_count, options.shape.rank_count)) {}

ExpertLayers::Forward ExpertLayers::run(const LoadMatrix& counts, const SimMapPublisher& maps) {
  const Shape& shape = options_.shape;
  const auto slots_per_rank = static_cast<std::size_t>(shape.slots_per_rank());
  std::int64_t duration_ns = 0;
  for (std::int32_t layer = 0; layer < shape.layer_count; ++layer) {
    const std::span<const std::int64_t> layer_counts(counts.row(layer).data(),
                                                     static_cast<std::size_t>(counts.cols()));
    dealer_.deal(layer_counts, maps.map(LayerId{layer}), tokens_per_slot_);
    double slowest_ns = 0;
    for (std::int32_t rank = 0; rank < shape.rank_count; ++rank) {
      const std::span<const std::int64_t> local(
          tokens_per_slot_.data() + static_cast<std::size_t>(rank) * slots_per_rank,
          slots_per_rank);
      const ExpertLayerFeatures features = features_of(local, options_.block_rows);
      rank_loads_(layer, rank) = features.assignments;
      slowest_ns = std::max(slowest_ns, expert_layer_ns(options_.cost, features));
    }
    duration_ns += std::llround(slowest_ns);
  }
  return {.duration_ns = duration_ns, .balancedness = balancedness(rank_loads_)};
}

}  // namespace eplb::sim
