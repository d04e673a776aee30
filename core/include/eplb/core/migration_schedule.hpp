#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "eplb/core/layer_migration.hpp"
#include "eplb/core/layer_shares.hpp"
#include "eplb/core/load.hpp"
#include "eplb/core/policy.hpp"
#include "eplb/core/row_address.hpp"
#include "eplb/core/trigger.hpp"

namespace eplb {

/// One layer's migration with all that ranks must agree on besides.
struct LayerSchedule {
  LayerMigration migration;
  LayerPlacement target;
  /// Landing row that receives each slot's expert, on the slot's rank; [slots], -1 where nothing
  /// lands.
  std::vector<std::int32_t> landing_row;
  /// `migration.remote` in executes: no rank has more than one peer in a batch.
  std::vector<TransferBatch> batches;
  /// Leading layers of the schedule that must have retired on all ranks before this one's rows are
  /// free.
  std::int32_t retired_layers_needed = 0;
  std::int64_t commit_bytes = 0;  ///< What the busiest rank copies at the commit.
  /// Of the target's slots; none where the replica choice knows no shares.
  std::optional<LayerShares> shares = std::nullopt;
};

/// What a machine executes: which rows go where, through which landing rows, in which order. A pure
/// function of what all ranks know, so that senders and receivers agree without a message.
struct MigrationSchedule {
  std::vector<LayerSchedule> layers;  ///< Those that change, ascending.
  std::uint64_t digest = 0;           ///< Equal on all ranks if and only if all layers are.
  std::optional<TriggerVerdict> verdict = {};  ///< On what was proposed; none without a trigger.

  [[nodiscard]] std::int32_t layer_count() const {
    return static_cast<std::int32_t>(layers.size());
  }

  /// Experts that cross between ranks.
  [[nodiscard]] std::int64_t remote_transfer_count() const;
};

struct ScheduleOptions {
  std::int32_t landing_rows = 0;        ///< Each rank's; at least its slots.
  std::vector<std::int64_t> row_bytes;  ///< One a layer.
  bool batching = true;                 ///< Else all transfers of a layer are one batch.
  bool one_row_batches = false;         ///< FaultPoint::kOneRowBatches.
  bool every_layer = false;             ///< FaultPoint::kEveryLayer.
  std::int32_t first_landing_row = 0;   ///< Where dealing starts (FaultPoint::kRotatedRows).
};

/// Shares of all layers, that serve now and that are to; both empty where the choice knows none.
struct SharesChange {
  std::span<const LayerShares> before;
  std::span<const LayerShares> after;
};

/// Landing rows are dealt as from a ring: changed layers in order, in each the rank's arriving and
/// then its own moving experts. A layer waits until those whose rows it takes have retired. A layer
/// of which only the shares change moves nothing, but commits with the others.
[[nodiscard]] MigrationSchedule schedule_migration(const Placement& before, const Placement& after,
                                                   const ScheduleOptions& options,
                                                   const SharesChange& shares = {});

/// All that a plan depends on; owns it, so that it may be given up while it is worked on.
struct PlanRequest {
  std::int64_t rearrangement = 0;
  Shape shape;        ///< Of the ranks that are to hold experts.
  Topology topology;  ///< Of the same.
  /// Ranks that hold experts afterwards, ascending; none: all. Others are left empty.
  std::optional<std::vector<RankId>> staying;
  LoadHistory history;  ///< As PolicyProblem has it.
  std::int32_t window_part_count = 1;
  std::shared_ptr<const Placement> current;
  /// What serves now, one a layer, if the plan is to bring new ones; null: the choice knows none.
  std::shared_ptr<const std::vector<LayerShares>> current_shares = nullptr;
  PolicyCosts costs;
  double window_steps = 0;                     ///< As PolicyProblem has it.
  std::optional<TriggerProblem> trigger = {};  ///< None: whatever the policy wants.
  ScheduleOptions schedule;
};

/// Asks the policy, keeps what is worth its migration, learns shares for the placement that this
/// leaves from the same load where they are wanted, and schedules the way there. The policy's own
/// error if it refuses.
[[nodiscard]] Result<std::shared_ptr<const MigrationSchedule>> plan_rearrangement(
    const PlanRequest& request, const PlacementPolicy& policy);

/// Copies that `rank` has to start for `batch`: those it sends, receives, or both.
enum class TransferEnd : std::uint8_t { kSource, kDestination, kEither };
void append_copies(const LayerSchedule& layer, const TransferBatch& batch, RankId rank,
                   TransferEnd end, std::vector<RowCopy>& copies);

/// The rank's own moving experts: from slots into its landing rows.
void append_local_copies(const LayerSchedule& layer, RankId rank, std::vector<RowCopy>& copies);

/// What a commit copies on `rank`: landing rows into slots, duplicates included, each from the
/// landing row, so that no copy depends on another.
void append_commit_copies(const LayerSchedule& layer, RankId rank, std::vector<RowCopy>& copies);

}  // namespace eplb
