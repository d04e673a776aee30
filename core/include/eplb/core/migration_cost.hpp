#pragma once

#include <cstdint>

#include "eplb/core/layer_migration.hpp"

namespace eplb {

/// What forwards lose to a layer that migrates, all from a hardware file (docs/policies.md, "The
/// trigger").
struct MigrationCost {
  /// For each byte that the busiest rank sends or receives: what copies beside a forward slow it
  /// by, or, where ranks hold meanwhile, all the time that the byte takes.
  double wire_ns_per_byte = 0;
  double commit_ns_per_byte = 0;  ///< Landing rows into slots, between two forwards.
  double commit_start_ns = 0;  ///< What a layer's commit takes on top: its copies' start, its map.
};

/// What one layer's migration costs, in ns. `row_bytes` are an expert's weights. An upper bound
/// where several layers commit in one step, as they share one start.
[[nodiscard]] double migration_ns(const MigrationCost& cost, const LayerMigration& migration,
                                  const LayerPlacement& after, std::int64_t row_bytes);

}  // namespace eplb
