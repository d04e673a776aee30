#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "eplb/core/env/environment.hpp"
#include "eplb/core/migration_schedule.hpp"
#include "eplb/core/options.hpp"

namespace eplb {

/// This rank's part of a schedule: starts its copies in order, as landing rows become free, and
/// knows which layers' part is done. A local copy counts as done when it is queued, since a commit
/// waits for it on the device.
class Outbox {
 public:
  struct Options {
    std::int32_t rank_count = 1;
    Handshake handshake = Handshake::kStatuses;
    std::int32_t layers_in_flight = 1;
  };

  Outbox(const Options& options, const env::Environment& environment);

  void load(std::shared_ptr<const MigrationSchedule> schedule, std::int64_t rearrangement);

  /// Polls what is under way. True if anything has ended.
  bool poll();

  /// Starts the next execute if it may: at most one batch of copies. `retired_layers` have left
  /// their landing rows on all ranks. True if it did something.
  bool start_next(std::int32_t retired_layers);

  /// Whether start_next would do something that depends on no other rank.
  [[nodiscard]] bool can_start(std::int32_t retired_layers) const;

  /// Starts nothing more, and gives up what waits for its other end.
  void cancel();

  /// Whether the next execute waits for nothing but landing rows that committed layers still hold.
  /// Also true once all is started.
  [[nodiscard]] bool blocked_by_commits(std::int32_t committed_layers) const;

  /// Leading layers whose part of this rank is done.
  [[nodiscard]] std::int32_t landed_layers() const;

  /// First layer whose copies failed.
  [[nodiscard]] std::optional<LayerId> failed_layer() const { return failed_layer_; }

  /// Whether copies are under way whose end only a poll tells.
  [[nodiscard]] bool waits_for_landing() const { return !in_flight_.empty(); }

  /// The layer that is waited for.
  [[nodiscard]] LayerId front_layer() const;

  /// Whether nothing of this rank's reads or writes a row any more.
  [[nodiscard]] bool drained() const;

  /// What a commit of the first `layer_count` layers, at least one, must wait for on the migration
  /// queue.
  [[nodiscard]] env::Ticket local_copies_of(std::int32_t layer_count) const;

 private:
  /// A step of the order in which this rank starts things.
  struct Execute {
    std::int32_t layer_index;
    std::optional<std::size_t> batch;  ///< None: the layer's local copies.
    std::int64_t batches_before;       ///< Of the whole schedule: the same on all ranks.
  };

  struct Flight {
    std::size_t execute;
    env::Ticket ticket;
  };

  /// Where the execute at hand stands in Handshake::kBarriers.
  enum class Barrier : std::uint8_t { kNotArrived, kBefore, kFlying, kAfter };

  [[nodiscard]] std::size_t landed_executes() const;
  [[nodiscard]] bool rows_are_free(std::int32_t retired_layers) const;
  bool start(std::size_t execute);
  bool start_between_barriers();
  void arrive(std::int64_t barrier);
  [[nodiscard]] bool all_arrived(std::int64_t barrier) const;
  void fail_at(std::size_t execute);

  Options options_;
  env::Environment environment_;
  TransferEnd end_;

  std::shared_ptr<const MigrationSchedule> schedule_;
  std::int64_t rearrangement_ = 0;
  std::vector<Execute> executes_;
  std::size_t next_ = 0;
  std::deque<Flight> in_flight_;
  Barrier barrier_ = Barrier::kNotArrived;
  std::vector<env::Ticket> local_tickets_;  ///< By layer of the schedule, never falling.
  env::Ticket last_local_;
  std::optional<LayerId> failed_layer_;
  std::size_t failed_execute_ = 0;
  std::vector<RowCopy> copies_;  ///< Kept to save allocations.
};

}  // namespace eplb
