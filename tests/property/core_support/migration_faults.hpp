#pragma once

#include <string>
#include <vector>

#include "eplb/core/layer_migration.hpp"
#include "eplb/core/placement.hpp"

namespace eplb::test {

/// What is wrong with a layer's plan, or "": it must move each row once, by the rules of its three
/// lists, and rows moved by it must hold the new placement.
[[nodiscard]] std::string migration_fault(const LayerMigration& migration,
                                          const LayerPlacement& before,
                                          const LayerPlacement& after);

/// What is wrong with the batches of `transfers`, or "": each transfer flies once, at most one peer
/// a rank and batch, a pair's transfers together and in order.
[[nodiscard]] std::string batches_fault(const std::vector<TransferBatch>& batches,
                                        const std::vector<Transfer>& transfers,
                                        const LayerPlacement& placement);

}  // namespace eplb::test
