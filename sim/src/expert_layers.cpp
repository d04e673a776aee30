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

namespace {

/// Of rows that go to all ranks alike, whoever sends them: those for another domain.
double network_part(const Topology& topology) {
  const auto ranks = static_cast<double>(topology.rank_count());
  double part = 0;
  for (std::int32_t rank = 0; rank < topology.rank_count(); ++rank) {
    for (std::int32_t other = 0; other < topology.rank_count(); ++other) {
      part += topology.domain_of(RankId{rank}) == topology.domain_of(RankId{other}) ? 0 : 1;
    }
  }
  return part / ranks / ranks;
}

}  // namespace

ExpertLayers::ExpertLayers(const Options& options)
    : options_(options), network_part_(network_part(options.topology)), dealer_(options.dealer) {
  if (options.dealer.choice == ReplicaChoice::kNearest) {
    nearest_.emplace(NearestDealer::Options{.topology = options.topology,
                                            .slots_per_rank = options.shape.slots_per_rank(),
                                            .dealer = options.dealer});
  }
  if (!is_even(options.dealer.choice)) {
    exact_.emplace(ExactSplit::Options{.rank_count = options.shape.rank_count,
                                       .slots_per_rank = options.shape.slots_per_rank()});
    exact_slots_.resize(static_cast<std::size_t>(options.shape.slot_count()));
  }
}

void ExpertLayers::deal(std::span<const std::int64_t> counts, Maps maps, std::int32_t group_layer,
                        Tally& tally) {
  const std::span<std::int64_t> slots(tally.slot_loads.row(group_layer).data(),
                                      static_cast<std::size_t>(tally.slot_loads.cols()));
  if (nearest_.has_value()) {
    maps_.clear();
    for (const SimMapPublisher* of_domain : maps) {
      maps_.push_back(&of_domain->map(LayerId{group_layer}));
    }
    nearest_->deal(counts, maps_, slots);
    tally.network_rows += nearest_->network_row_count();
    return;
  }
  const LayerMap& map = maps.front()->map(LayerId{group_layer});
  const std::int64_t picks = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  tally.network_rows += network_part_ * static_cast<double>(picks);
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
    if (nearest_.has_value()) {
      parts.wire_ns = wire_ns(RankId{rank}, features);
    }
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

// Within a domain rows go to all its ranks alike, so one in its size stays at home.
double ExpertLayers::wire_ns(RankId rank, const ExpertLayerFeatures& features) const {
  const WireRows network = nearest_->network_rows(rank);
  const double size = nearest_->domain_size(rank);
  const double away = (size - 1) / size;
  const WireRows nvlink{
      .arriving = (static_cast<double>(features.assignments) - network.arriving) * away,
      .sent = (static_cast<double>(features.sent_rows) - network.sent) * away};
  return std::max(eplb::wire_ns(options_.nvlink, nvlink), eplb::wire_ns(options_.network, network));
}

std::int64_t ExpertLayers::run(const LoadMatrix& counts, const Span& span, Maps maps,
                               const Rows& rows, Tally& tally) {
  const std::int64_t row_count =
      std::accumulate(rows.by_rank.begin(), rows.by_rank.end(), std::int64_t{0});
  // The kernel knows slots, not logical experts.
  const std::int32_t block_rows =
      block_rows_for(static_cast<double>(row_count * options_.top_k) / options_.shape.slot_count());
  dealer_.set_row_count(row_count);
  if (nearest_.has_value()) {
    nearest_->set_rows(rows.by_rank);
  }
  std::int64_t duration_ns = 0;
  for (std::int32_t offset = 0; offset < span.layer_count; ++offset) {
    const std::int32_t index = span.first_group_layer + offset;
    const std::span<const std::int64_t> layer_counts(
        counts.row(span.first_count_row + offset).data(), static_cast<std::size_t>(counts.cols()));
    deal(layer_counts, maps, index, tally);
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
