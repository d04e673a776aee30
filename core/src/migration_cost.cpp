#include "eplb/core/migration_cost.hpp"

namespace eplb {

double migration_ns(const MigrationCost& cost, const LayerMigration& migration,
                    const LayerPlacement& after, std::int64_t row_bytes) {
  const auto bytes = static_cast<double>(row_bytes);
  return cost.wire_ns_per_byte * bytes * busiest_wire_rows(migration, after) +
         cost.commit_ns_per_byte * bytes * busiest_commit_rows(migration, after) +
         cost.commit_start_ns;
}

}  // namespace eplb
