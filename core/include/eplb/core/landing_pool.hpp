#pragma once

#include <cstdint>
#include <vector>

#include "eplb/core/migration_plan.hpp"

namespace eplb {

/// Rows that receive weights before their commit: how many of each rank's are taken. A layer takes
/// a row for each expert that arrives and for each that moves within the rank, since its old slot
/// may be overwritten first.
class LandingPool {
 public:
  LandingPool(std::int32_t rank_count, std::int32_t rows_per_rank)
      : rows_per_rank_(rows_per_rank), taken_(static_cast<std::size_t>(rank_count), 0) {}

  /// Takes the layer's rows on all ranks, or none if one rank lacks them. A layer never needs more
  /// rows than a rank has slots, so a pool of that size always serves one layer.
  [[nodiscard]] bool try_take(const LayerMigration& layer, std::int32_t slots_per_rank);

  void release(const LayerMigration& layer, std::int32_t slots_per_rank);

 private:
  void add(const LayerMigration& layer, std::int32_t slots_per_rank, std::int32_t rows);

  std::int32_t rows_per_rank_;
  std::vector<std::int32_t> taken_;
};

}  // namespace eplb
