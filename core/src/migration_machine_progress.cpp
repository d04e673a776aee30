// The part of a migration that goes on between steps: sums, plan, transfers, and what became of
// them. What all ranks decide together is in migration_machine.cpp.

#include <algorithm>
#include <utility>

#include "migration_machine.hpp"

namespace eplb {
namespace {

/// Counts summed in one call: about a quarter of a millisecond.
constexpr std::int64_t kCellsPerCall = 1'000'000;

}  // namespace

bool MigrationMachine::progress() {
  if (note_group_end() || ended_group_) {
    return false;
  }
  bool more = false;
  switch (state_) {
    case MigrationState::kAggregating:
      more = progress_aggregating();
      break;
    case MigrationState::kPlanning:
      more = progress_planning();
      break;
    case MigrationState::kMoving:
      more = progress_moving();
      break;
    case MigrationState::kAborting:
      more = outbox_.poll();
      more = poll_retiring() || more;
      break;
    case MigrationState::kStarting:
    case MigrationState::kIdle:
    case MigrationState::kStopped:
      break;
  }
  check_deadlines();
  return more && !ended_group_;
}

bool MigrationMachine::progress_aggregating() {
  if (own_failure_) {
    return false;
  }
  const env::SumKey key{.kind = env::SumKey::Kind::kWindow, .index = rearrangement_};
  if (!summing_) {
    if (window_ != nullptr && !window_->advance_sum(kCellsPerCall)) {
      return true;
    }
    const auto part_size = static_cast<std::size_t>(request_->shape.layer_count) *
                           static_cast<std::size_t>(request_->shape.expert_count);
    std::vector<double> values;
    if (window_ != nullptr) {
      for (const RealLoadMatrix& part : window_->take_sum()) {
        values.insert(values.end(), part.data(), part.data() + part.size());
      }
    } else {
      values.assign(part_size * static_cast<std::size_t>(request_->window_part_count), 0.0);
    }
    environment_.control_plane.start_sum(key, values);
    summing_ = true;
    return true;
  }
  const auto sums = environment_.control_plane.try_take_sum(key);
  if (sums == nullptr) {
    return false;
  }
  submit_plan(*sums);
  return true;
}

void MigrationMachine::submit_plan(const std::vector<double>& sums) {
  const bool no_load = std::ranges::all_of(sums, [](double value) { return value == 0; });
  if (no_load && !even_without_load_) {
    // A policy would give all replicas to expert 0; without load the placement stays.
    trace(env::TraceEvent::kPlanSkipped, rearrangement_, 0);
    take_schedule(std::make_shared<const MigrationSchedule>());
    return;
  }
  const Eigen::Index rows = request_->shape.layer_count;
  const Eigen::Index cols = request_->shape.expert_count;
  LoadHistory history = history_;
  for (std::int32_t part = 0; part < request_->window_part_count; ++part) {
    if (no_load) {
      history.push_back(std::make_shared<const RealLoadMatrix>(RealLoadMatrix::Ones(rows, cols)));
    } else {
      history.push_back(std::make_shared<const RealLoadMatrix>(
          Eigen::Map<const RealLoadMatrix>(sums.data() + part * rows * cols, rows, cols)));
    }
  }
  const auto kept = static_cast<std::size_t>(options_.history_parts);
  if (history.size() > kept) {
    history.erase(history.begin(), history.end() - static_cast<std::ptrdiff_t>(kept));
  }
  request_->history = std::move(history);
  enter(MigrationState::kPlanning);
  trace(env::TraceEvent::kPlanRequested, rearrangement_, 0);
  environment_.planner.submit(*request_);
}

bool MigrationMachine::progress_planning() {
  std::optional<env::PlanAnswer> answer = environment_.planner.poll();
  if (!answer) {
    return false;
  }
  if (answer->rearrangement != rearrangement_ || own_failure_) {
    return true;  // Of a rearrangement that was given up.
  }
  if (!answer->schedule) {
    ask_to_abort(FailureCause::kPlanFailed);
    return false;
  }
  take_schedule(std::move(*answer->schedule));
  return true;
}

void MigrationMachine::take_schedule(std::shared_ptr<const MigrationSchedule> schedule) {
  schedule_ = std::move(schedule);
  outbox_.load(schedule_, rearrangement_);
  enter(MigrationState::kMoving);
  trace(env::TraceEvent::kPlanReady, rearrangement_, static_cast<std::int64_t>(schedule_->digest));
}

bool MigrationMachine::progress_moving() {
  const std::int32_t landed = outbox_.landed_layers();
  bool more = outbox_.poll();
  for (std::int32_t layer = landed; layer < outbox_.landed_layers(); ++layer) {
    trace(env::TraceEvent::kLayerLanded,
          schedule_->layers[static_cast<std::size_t>(layer)].migration.layer.value, 0);
  }
  more = poll_retiring() || more;
  if (!own_failure_) {
    more = outbox_.start_next(retired_everywhere()) || more;
  }
  if (outbox_.failed_layer().has_value() && !own_failure_) {
    ask_to_abort(FailureCause::kTransferFailed, *outbox_.failed_layer());
  }
  if (more) {
    since_ns_ = now_ns();
  }
  return more;
}

std::int32_t MigrationMachine::retired_everywhere() {
  if (retired_everywhere_ < committed_) {
    std::int32_t least = retired_;
    for (std::int32_t rank = 0; rank < options_.rank_count && least > retired_everywhere_; ++rank) {
      least = std::min(least, environment_.control_plane.retired(RankId{rank}, rearrangement_));
    }
    retired_everywhere_ = std::max(retired_everywhere_, least);
  }
  return retired_everywhere_;
}

bool MigrationMachine::poll_retiring() {
  bool any = false;
  while (!retiring_.empty()) {
    const env::Completion completion = environment_.queues.forward.poll(retiring_.front().ticket);
    if (completion == env::Completion::kPending) {
      break;
    }
    const std::int32_t retired = retiring_.front().committed_layers;
    if (completion == env::Completion::kFailed) {
      const auto first = static_cast<std::size_t>(retired_);
      end_group({.cause = FailureCause::kCopyFailed,
                 .rank = rank_,
                 .state = state_,
                 .layer = schedule_->layers[first].migration.layer});
      return false;
    }
    for (; retired_ < retired; ++retired_) {
      trace(env::TraceEvent::kLayerRetired,
            schedule_->layers[static_cast<std::size_t>(retired_)].migration.layer.value, 0);
    }
    environment_.control_plane.post_retired(rearrangement_, retired_);
    retiring_.pop_front();
    any = true;
  }
  return any;
}

// NOTE [patience]: a rank gives its own work one deadline, and twice that to peers whose work it
// waits for, so that the rank that is late speaks first and is the one that is named.
void MigrationMachine::check_deadlines() {
  if (ended_group_ || own_failure_) {
    return;
  }
  const std::int64_t waited_ns = now_ns() - since_ns_;
  const bool passed = waited_ns > options_.deadline_ns;
  if (passed && ((state_ == MigrationState::kAborting && !drained()) || !retiring_.empty())) {
    // Rows are still being read or written: neither the old nor the new content is safe.
    end_group({.cause = FailureCause::kDeadline, .rank = rank_, .state = state_});
    return;
  }
  const bool own_work = has_own_work();
  const std::int64_t patience_ns = (own_work ? 1 : 2) * options_.deadline_ns;
  if ((own_work || waits_for_peers()) &&
      (waited_ns > patience_ns ||
       environment_.fault_points.fires(env::FaultPoint::kShortDeadline))) {
    const bool moving = state_ == MigrationState::kMoving;
    ask_to_abort(FailureCause::kDeadline, moving ? outbox_.front_layer() : LayerId{-1});
  }
}

bool MigrationMachine::has_own_work() {
  return (state_ == MigrationState::kAggregating && !summing_) ||
         state_ == MigrationState::kPlanning ||
         (state_ == MigrationState::kMoving &&
          (outbox_.waits_for_landing() || outbox_.can_start(retired_everywhere())));
}

// While it moves at the pace of steps, a rank is told by statuses what its peers do: `watch`.
bool MigrationMachine::waits_for_peers() const {
  return (state_ == MigrationState::kAggregating && summing_) ||
         (state_ == MigrationState::kMoving && pace_ == Pace::kHeld && !quiescent());
}

}  // namespace eplb
