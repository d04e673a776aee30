#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "eplb/core/env/environment.hpp"
#include "eplb/core/failure.hpp"
#include "eplb/core/load.hpp"
#include "eplb/core/load_window.hpp"
#include "eplb/core/migration_schedule.hpp"
#include "eplb/core/options.hpp"
#include "eplb/core/status.hpp"
#include "outbox.hpp"

namespace eplb {

/// Whether serving goes on while a rearrangement runs.
enum class Pace : std::uint8_t {
  kSteps,  ///< A round a step; decided `lead` steps later, so that nobody waits.
  kHeld,   ///< No forward runs; a round ends when all ranks have done what they can.
};

/// What all ranks have decided for this moment, each alone and all alike.
struct Agreement {
  enum class Outcome : std::uint8_t {
    kGoOn,
    kStarted,   ///< All ranks are there.
    kAborting,  ///< From now on nothing of the rearrangement is committed any more.
    kEnded,     ///< All layers are committed and have retired on all ranks.
    kAborted,   ///< The abort has ended on all ranks.
    kRaised,    ///< The same error on every rank.
  };

  Outcome outcome = Outcome::kGoOn;
  std::int32_t commit_layer_count = 0;  ///< Layers to commit now, next ones in the schedule.
};

/// One rank's share in the migration protocol (docs/architecture.md, "The protocol"). It decides
/// when layers are committed from what all ranks posted, and from nothing else, so all decide
/// alike.
///
/// States: Starting -> Idle -> Aggregating -> Planning -> Moving -> Idle; from each of the three in
/// the middle -> Aborting -> Idle. While moving, a layer's state is where it stands among counters
/// that never fall: retired <= committed <= landed <= all.
class MigrationMachine {
 public:
  struct Options {
    std::int32_t rank_count = 1;
    std::int32_t commit_lead_steps = 2;
    std::int64_t deadline_ns = 0;
    std::int32_t layers_in_flight = 1;
    std::int64_t max_commit_bytes_per_step = 0;
    OnFailure on_failure = OnFailure::kKeepServing;
    Handshake handshake = Handshake::kStatuses;
    std::int32_t history_parts = 16;  ///< Newest parts that a policy is shown.
    std::uint64_t settings_digest = 0;
  };

  /// Posts the start-up status. `history` is what a machine before this one has gathered.
  MigrationMachine(const Options& options, const env::Environment& environment,
                   LoadHistory history);

  [[nodiscard]] MigrationState state() const { return state_; }

  /// Whether a rearrangement runs.
  [[nodiscard]] bool rearranging() const {
    return state_ != MigrationState::kStarting && state_ != MigrationState::kIdle &&
           state_ != MigrationState::kStopped;
  }

  /// Whether no forward may run until the next agreement.
  [[nodiscard]] bool holding() const {
    return state_ == MigrationState::kStarting || (rearranging() && pace_ == Pace::kHeld);
  }

  /// Why the group has ended, once it has; the same on every rank.
  [[nodiscard]] const Failure& stop_reason() const { return stop_reason_; }

  /// Why the newest rearrangement was aborted.
  [[nodiscard]] const Failure& abort_reason() const { return abort_reason_; }

  /// Begins a rearrangement in this step, on all ranks alike. `window` may be null where this rank
  /// counts nothing; it must stay until the machine is idle again. `request` lacks the history.
  void start(Pace pace, LoadWindow* window, PlanRequest request, bool even_without_load);

  /// Aborts at the next round; without effect where nothing runs.
  void drain();

  /// Posts this step's status, once a step, first thing. Async pace only.
  void post_step();

  /// What is agreed now; none if a status is late: the caller holds and asks again.
  [[nodiscard]] std::optional<Agreement> agree();

  /// Copies the next `layer_count` layers into their slots, on the forward queue, and gives them
  /// back for their maps to be published.
  [[nodiscard]] std::span<const LayerSchedule> commit(std::int32_t layer_count);

  /// Polls, and starts at most one batch of copies. True if a call at once may do more.
  bool progress();

  [[nodiscard]] const LoadHistory& history() const { return history_; }

  /// What the newest rearrangement executes; null if it has not come so far.
  [[nodiscard]] const MigrationSchedule* schedule() const { return schedule_.get(); }

 private:
  /// What the statuses of one round say together.
  struct Facts {
    bool all_planned = true;
    bool all_drained = true;
    std::int32_t landed_layers = 0;   ///< Least of all ranks'.
    std::int32_t retired_layers = 0;  ///< Least of all ranks'.
    Failure failure = {};             ///< Of the first rank that has one.
    Failure laggard = {};             ///< The rank that is furthest behind.
  };

  /// Landing rows that a commit empties.
  struct Retiring {
    std::int32_t committed_layers;
    env::Ticket ticket;
  };

  [[nodiscard]] std::int64_t lead() const;

  [[nodiscard]] std::int64_t now_ns() const { return environment_.clock.now_ns(); }

  void note_missing(RankId rank);
  [[nodiscard]] std::optional<Facts> facts_of(std::int64_t round);
  [[nodiscard]] const Status* status_of(RankId rank, std::int64_t round) const;
  [[nodiscard]] Failure odd_one_of(std::int64_t round) const;
  [[nodiscard]] Agreement decide(const Facts& facts);
  void adopt_history();
  [[nodiscard]] std::int32_t layers_to_commit(std::int32_t landed_layers) const;
  void watch(const Facts& facts);
  void post();
  void post_when_quiescent();
  void post_heartbeat();
  [[nodiscard]] bool peer_failed() const;
  [[nodiscard]] bool quiescent() const;
  [[nodiscard]] bool drained() const;

  bool progress_aggregating();
  bool progress_planning();
  bool progress_moving();
  void take_schedule(std::shared_ptr<const MigrationSchedule> schedule);
  void submit_plan(const std::vector<double>& sums);
  [[nodiscard]] std::int32_t retired_everywhere();
  bool poll_retiring();
  void check_deadlines();
  [[nodiscard]] bool has_own_work();
  [[nodiscard]] bool waits_for_peers() const;

  void enter(MigrationState state);
  void ask_to_abort(FailureCause cause, LayerId layer = LayerId{-1});
  void end_group(const Failure& failure);
  void stop(const Failure& reason);
  [[nodiscard]] bool note_group_end();
  void trace(env::TraceEvent event, std::int64_t subject, std::int64_t value) const;

  Options options_;
  env::Environment environment_;
  RankId rank_;
  Outbox outbox_;
  LoadHistory history_;

  MigrationState state_ = MigrationState::kStarting;
  std::int64_t since_ns_ = 0;  ///< When this rank's own work last moved.

  // The rearrangement at hand.
  std::int64_t rearrangement_ = 0;
  Pace pace_ = Pace::kHeld;
  std::int64_t posted_rounds_ = 0;
  std::int64_t decided_rounds_ = 0;
  std::int64_t heartbeat_ns_ = 0;    ///< When this rank's newest was posted.
  std::int64_t late_since_ns_ = -1;  ///< When a status was first missed; -1 if none is.
  LoadWindow* window_ = nullptr;
  bool even_without_load_ = false;
  bool summing_ = false;  ///< This rank's own sum is complete and on its way.
  std::optional<PlanRequest> request_;
  std::shared_ptr<const MigrationSchedule> schedule_;
  std::int32_t committed_ = 0;
  std::int32_t retired_ = 0;
  std::int32_t retired_everywhere_ = 0;
  std::deque<Retiring> retiring_;
  std::vector<MigrationState> last_states_;  ///< Of each rank, as far as decided.
  std::int32_t watched_landed_ = 0;          ///< Agreed facts when they last changed, and
  std::int32_t watched_retired_ = 0;
  std::int64_t watched_since_ns_ = 0;  ///< when that was.
  std::int32_t overdue_rounds_ = 0;    ///< Decided after they should have changed.

  Failure own_failure_;  ///< Posted until the group has aborted.
  Failure abort_reason_;
  Failure stop_reason_;
  bool ended_group_ = false;  ///< This rank has asked the group to end, and starts nothing more.
  std::vector<RowCopy> copies_;
};

}  // namespace eplb
