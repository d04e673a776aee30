#include "eplb/core/migration_schedule.hpp"

#include <algorithm>
#include <utility>

#include "eplb/core/assert.hpp"
#include "eplb/core/digest.hpp"
#include "eplb/core/learnt_shares.hpp"

namespace eplb {
namespace {

/// Rows that each rank has taken from its ring, layer after layer.
class RowDealer {
 public:
  RowDealer(std::int32_t rank_count, std::int32_t row_count, std::int32_t first_row)
      : row_count_(row_count),
        first_row_(first_row),
        taken_(1, std::vector<std::int64_t>(static_cast<std::size_t>(rank_count), 0)) {}

  void open_layer() { taken_.push_back(taken_.back()); }

  [[nodiscard]] std::int32_t take(RankId rank) {
    return static_cast<std::int32_t>((first_row_ + taken_.back()[rank.index()]++) % row_count_);
  }

  /// Leading layers that must be gone before the newest one's rows are free on every rank.
  [[nodiscard]] std::int32_t layers_to_retire() const {
    std::size_t gone = 0;
    while (!fits_without(gone)) {
      ++gone;
    }
    EPLB_ASSERT_OP(gone + 1, <, taken_.size());  // A pool always holds one layer.
    return static_cast<std::int32_t>(gone);
  }

 private:
  [[nodiscard]] bool fits_without(std::size_t gone) const {
    for (std::size_t rank = 0; rank < taken_.back().size(); ++rank) {
      if (taken_.back()[rank] - taken_[gone][rank] > row_count_) {
        return false;
      }
    }
    return true;
  }

  std::int64_t row_count_;
  std::int64_t first_row_;
  std::vector<std::vector<std::int64_t>> taken_;  ///< [layers + 1][ranks]: before each layer.
};

std::vector<TransferBatch> batches_of(const LayerMigration& migration, std::int32_t slots_per_rank,
                                      const ScheduleOptions& options) {
  std::vector<TransferBatch> batches;
  if (options.one_row_batches) {
    for (const Transfer& transfer : migration.remote) {
      batches.push_back({transfer});
    }
  } else if (options.batching) {
    batches = schedule_batches(migration.remote, slots_per_rank);
  } else if (!migration.remote.empty()) {
    batches.push_back(migration.remote);
  }
  return batches;
}

void add_transfers(Digest& digest, const std::vector<Transfer>& transfers) {
  digest.add(static_cast<std::int64_t>(transfers.size()));
  for (const Transfer& transfer : transfers) {
    digest.add(transfer.expert.value);
    digest.add(transfer.source.value);
    digest.add(transfer.destination.value);
  }
}

std::uint64_t digest_of(const std::vector<LayerSchedule>& layers) {
  Digest digest;
  for (const LayerSchedule& layer : layers) {
    digest.add(layer.migration.layer.value);
    for (const LogicalExpertId expert : layer.target.occupants()) {
      digest.add(expert.value);  // Slots that become empty are in no transfer.
    }
    add_transfers(digest, layer.migration.local);
    add_transfers(digest, layer.migration.duplicates);
    digest.add(static_cast<std::int64_t>(layer.batches.size()));
    for (const TransferBatch& batch : layer.batches) {
      add_transfers(digest, batch);
    }
    for (const std::int32_t row : layer.landing_row) {
      digest.add(row);
    }
    digest.add(layer.retired_layers_needed);
    digest.add(layer.commit_bytes);
    if (layer.shares.has_value()) {
      for (const std::uint16_t units : layer.shares->units()) {
        digest.add(units);
      }
    }
  }
  return digest.value();
}

/// The placement of `staying` ranks alone, put back among all ranks; the others hold nothing.
Result<Placement> spread(const Placement& compact, const Placement& current,
                         const std::vector<RankId>& staying) {
  const Shape& shape = current.shape();
  std::vector<LayerPlacement> layers;
  layers.reserve(compact.layers().size());
  for (const LayerPlacement& layer : compact.layers()) {
    std::vector<LogicalExpertId> occupants(static_cast<std::size_t>(shape.slot_count()), kNoExpert);
    for (std::size_t rank = 0; rank < staying.size(); ++rank) {
      const auto held = layer.on_rank(RankId{static_cast<std::int32_t>(rank)});
      std::ranges::copy(
          held, occupants.begin() + std::ptrdiff_t{staying[rank].value} * shape.slots_per_rank());
    }
    auto wide = LayerPlacement::create(shape, std::move(occupants));
    if (!wide) {
      return tl::unexpected(wide.error());
    }
    layers.push_back(std::move(*wide));
  }
  return Placement::create(shape, std::move(layers));
}

RowCopy landing(const LayerSchedule& layer, const Transfer& transfer) {
  const LayerPlacement& target = layer.target;
  const auto row_of = [&target](SlotId slot) { return slot.value % target.slots_per_rank(); };
  return {.source = {.region = weights_region(layer.migration.layer),
                     .rank = target.rank_of(transfer.source),
                     .row = row_of(transfer.source)},
          .destination = {.region = kLandingRegion,
                          .rank = target.rank_of(transfer.destination),
                          .row = layer.landing_row[transfer.destination.index()]}};
}

}  // namespace

std::int64_t MigrationSchedule::remote_transfer_count() const {
  std::int64_t count = 0;
  for (const LayerSchedule& layer : layers) {
    count += static_cast<std::int64_t>(layer.migration.remote.size());
  }
  return count;
}

MigrationSchedule schedule_migration(const Placement& before, const Placement& after,
                                     const ScheduleOptions& options, const SharesChange& shares) {
  const Shape& shape = before.shape();
  EPLB_ASSERT(shape == after.shape());
  EPLB_ASSERT_OP(options.landing_rows, >=, shape.slots_per_rank());
  RowDealer dealer(shape.rank_count, options.landing_rows, options.first_landing_row);
  MigrationSchedule schedule;
  for (std::int32_t index = 0; index < shape.layer_count; ++index) {
    const LayerId layer{index};
    const bool new_shares =
        !shares.after.empty() && shares.before[layer.index()] != shares.after[layer.index()];
    if (before.layer(layer) == after.layer(layer) && !new_shares && !options.every_layer) {
      continue;
    }
    LayerSchedule entry{
        .migration = plan_layer_migration(layer, before.layer(layer), after.layer(layer)),
        .target = after.layer(layer),
        .landing_row = std::vector<std::int32_t>(static_cast<std::size_t>(shape.slot_count()), -1),
        .batches = {},
        .retired_layers_needed = 0,
        .commit_bytes = 0};
    dealer.open_layer();
    for (const auto* transfers : {&entry.migration.remote, &entry.migration.local}) {
      for (const Transfer& transfer : *transfers) {
        entry.landing_row[transfer.destination.index()] =
            dealer.take(entry.target.rank_of(transfer.destination));
      }
    }
    entry.retired_layers_needed = dealer.layers_to_retire();
    entry.batches = batches_of(entry.migration, shape.slots_per_rank(), options);
    entry.commit_bytes = options.row_bytes[layer.index()] *
                         std::int64_t{busiest_commit_rows(entry.migration, entry.target)};
    if (!shares.after.empty()) {
      entry.shares = shares.after[layer.index()];
    }
    schedule.layers.push_back(std::move(entry));
  }
  schedule.digest = digest_of(schedule.layers);
  return schedule;
}

Result<std::shared_ptr<const MigrationSchedule>> plan_rearrangement(const PlanRequest& request,
                                                                    const PlacementPolicy& policy) {
  std::vector<RealLoadMatrix> history;
  history.reserve(request.history.size());
  for (const auto& part : request.history) {
    history.push_back(*part);
  }
  const PolicyProblem problem{
      .shape = request.shape,
      .topology = request.topology,
      .history = history,
      .window_part_count = request.window_part_count,
      .current = request.staying.has_value() ? nullptr : request.current.get(),
      .costs = request.costs,
      .window_steps = request.window_steps};
  auto placement = policy.place(problem);
  if (placement && placement->shape() != request.shape) {
    return fail(ErrorCode::kInternal, "the policy's placement has another shape than was asked");
  }
  if (placement && request.staying.has_value()) {
    placement = spread(*placement, *request.current, *request.staying);
  }
  if (!placement) {
    return tl::unexpected(placement.error());
  }
  std::optional<TriggerVerdict> verdict;
  if (request.trigger.has_value()) {
    SelectedLayers selected = select_layers(problem, *placement, *request.trigger);
    placement = std::move(selected.placement);
    verdict = selected.verdict;
  }
  std::vector<LayerShares> shares;
  SharesChange change;
  if (request.current_shares != nullptr) {
    shares = learn_shares(problem, *placement);
    change = {.before = *request.current_shares, .after = shares};
  }
  auto schedule = std::make_shared<MigrationSchedule>(
      schedule_migration(*request.current, *placement, request.schedule, change));
  schedule->verdict = verdict;
  return schedule;
}

void append_copies(const LayerSchedule& layer, const TransferBatch& batch, RankId rank,
                   TransferEnd end, std::vector<RowCopy>& copies) {
  for (const Transfer& transfer : batch) {
    const RowCopy copy = landing(layer, transfer);
    const bool sends = copy.source.rank == rank && end != TransferEnd::kDestination;
    const bool receives = copy.destination.rank == rank && end != TransferEnd::kSource;
    if (sends || receives) {
      copies.push_back(copy);
    }
  }
}

void append_local_copies(const LayerSchedule& layer, RankId rank, std::vector<RowCopy>& copies) {
  for (const Transfer& transfer : layer.migration.local) {
    if (layer.target.rank_of(transfer.destination) == rank) {
      copies.push_back(landing(layer, transfer));
    }
  }
}

void append_commit_copies(const LayerSchedule& layer, RankId rank, std::vector<RowCopy>& copies) {
  const LayerMigration& migration = layer.migration;
  const auto append = [&](SlotId landed, SlotId slot) {
    copies.push_back({.source = {.region = kLandingRegion,
                                 .rank = rank,
                                 .row = layer.landing_row[landed.index()]},
                      .destination = {.region = weights_region(migration.layer),
                                      .rank = rank,
                                      .row = slot.value % layer.target.slots_per_rank()}});
  };
  for (const auto* transfers : {&migration.remote, &migration.local}) {
    for (const Transfer& transfer : *transfers) {
      if (layer.target.rank_of(transfer.destination) == rank) {
        append(transfer.destination, transfer.destination);
      }
    }
  }
  for (const Transfer& transfer : migration.duplicates) {
    if (layer.target.rank_of(transfer.destination) == rank) {
      append(transfer.source, transfer.destination);
    }
  }
}

}  // namespace eplb
