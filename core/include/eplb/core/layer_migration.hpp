#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "eplb/core/ids.hpp"
#include "eplb/core/placement.hpp"

namespace eplb {

/// One expert's weights, from a slot that holds them to a slot that will.
struct Transfer {
  LogicalExpertId expert;
  SlotId source;
  SlotId destination;

  friend bool operator==(const Transfer&, const Transfer&) = default;
};

/// How one layer gets from one placement to another (eplb-semantics 5.1). Every rank derives it
/// alone from the two placements, so senders and receivers agree without a message.
///
/// Order: `remote` and `local` read what the layer held before; `duplicates` read what `remote`
/// brought. Slots that do not change, or become empty, appear nowhere.
struct LayerMigration {
  LayerId layer;
  /// Across ranks, by expert, then receiver; an expert is received once a rank, in its first slot.
  std::vector<Transfer> remote;
  /// Within a rank, by destination; from the first slot that held the expert.
  std::vector<Transfer> local;
  /// Within a rank, by destination; further copies of an expert that was received.
  std::vector<Transfer> duplicates;

  friend bool operator==(const LayerMigration&, const LayerMigration&) = default;
};

/// Both placements have one shape.
[[nodiscard]] LayerMigration plan_layer_migration(LayerId layer, const LayerPlacement& before,
                                                  const LayerPlacement& after);

/// Rows that the busiest rank copies into its slots at the layer's commit.
[[nodiscard]] std::int32_t busiest_commit_rows(const LayerMigration& migration,
                                               const LayerPlacement& after);

/// Rows that the busiest rank's port lets in or out, whichever are more.
[[nodiscard]] std::int32_t busiest_wire_rows(const LayerMigration& migration,
                                             const LayerPlacement& after);

/// Transfers that may fly together: in a batch a rank has at most one peer, so no port has to serve
/// two flows at once. Both directions of a pair may share a batch.
using TransferBatch = std::vector<Transfer>;

/// All transfers of a directed pair of ranks stay together; pairs are taken in order of (source
/// rank, destination rank), each into the first batch in which both ends are free or already peers
/// of each other (eplb-semantics 5.2). `slots_per_rank` tells a slot's rank.
[[nodiscard]] std::vector<TransferBatch> schedule_batches(std::span<const Transfer> transfers,
                                                          std::int32_t slots_per_rank);

}  // namespace eplb
