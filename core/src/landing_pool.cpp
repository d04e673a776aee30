#include "eplb/core/landing_pool.hpp"

#include <algorithm>

namespace eplb {

bool LandingPool::try_take(const LayerMigration& layer, std::int32_t slots_per_rank) {
  add(layer, slots_per_rank, 1);
  const bool fits =
      std::ranges::all_of(taken_, [this](std::int32_t taken) { return taken <= rows_per_rank_; });
  if (!fits) {
    add(layer, slots_per_rank, -1);
  }
  return fits;
}

void LandingPool::release(const LayerMigration& layer, std::int32_t slots_per_rank) {
  add(layer, slots_per_rank, -1);
}

void LandingPool::add(const LayerMigration& layer, std::int32_t slots_per_rank, std::int32_t rows) {
  for (const auto* transfers : {&layer.remote, &layer.local}) {
    for (const Transfer& transfer : *transfers) {
      taken_[static_cast<std::size_t>(transfer.destination.value / slots_per_rank)] += rows;
    }
  }
}

}  // namespace eplb
