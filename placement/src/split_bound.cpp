#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "eplb/placement/bounds.hpp"
#include "layer_load.hpp"
#include "split_network.hpp"

namespace eplb::placement {
namespace {

/// The ranks that hold each expert, ascending, each once: [experts][ranks].
std::vector<std::vector<std::int32_t>> holders_of(const LayerPlacement& placement) {
  std::vector<std::vector<std::int32_t>> holders(
      static_cast<std::size_t>(placement.expert_count()));
  for (std::int32_t rank = 0; rank < placement.rank_count(); ++rank) {
    for (const LogicalExpertId expert : placement.on_rank(RankId{rank})) {
      if (expert != kNoExpert &&
          (holders[expert.index()].empty() || holders[expert.index()].back() != rank)) {
        holders[expert.index()].push_back(rank);
      }
    }
  }
  return holders;
}

/// Load of a set of experts over the number of ranks that hold any of them.
double load_per_holder(std::span<const double> load, std::span<const std::int32_t> experts,
                       const std::vector<std::vector<std::int32_t>>& holders,
                       std::int32_t rank_count) {
  std::vector<bool> held(static_cast<std::size_t>(rank_count), false);
  double sum = 0;
  for (const std::int32_t expert : experts) {
    sum += load[static_cast<std::size_t>(expert)];
    for (const std::int32_t rank : holders[static_cast<std::size_t>(expert)]) {
      held[static_cast<std::size_t>(rank)] = true;
    }
  }
  return sum / static_cast<double>(std::ranges::count(held, true));
}

}  // namespace

Result<double> layer_bound_split(const RealLoadRow& load, const LayerPlacement& placement) {
  Result<double> total = total_load(load, placement.expert_count());
  if (!total || *total == 0) {
    return total;
  }
  const std::span<const double> cells = cells_of(load);
  const auto holders = holders_of(placement);
  double optimum = *total / placement.rank_count();
  for (std::size_t expert = 0; expert < holders.size(); ++expert) {
    optimum = std::max(optimum, cells[expert] / static_cast<double>(holders[expert].size()));
  }
  // Dinkelbach's method: the set that is overloaded most at the ratio found so far has a larger
  // ratio, on fewer ranks, so there are at most as many rounds as ranks; in practice a handful.
  SplitNetwork network(cells, *total, placement);
  for (;;) {
    std::vector<std::int32_t> overloaded = network.most_overloaded(optimum);
    std::ranges::sort(overloaded);
    const double ratio = overloaded.empty()
                             ? 0
                             : load_per_holder(cells, overloaded, holders, placement.rank_count());
    if (!(ratio > optimum)) {
      return optimum;
    }
    optimum = ratio;
  }
}

Result<double> bound_split(const RealLoadMatrix& load, const Placement& placement) {
  return mean_over_layers(load, placement.shape().layer_count, [&](LayerId layer) {
    return layer_bound_split(load.row(layer.value), placement.layer(layer));
  });
}

}  // namespace eplb::placement
