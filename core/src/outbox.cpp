#include "outbox.hpp"

#include <algorithm>
#include <utility>

#include "eplb/core/assert.hpp"

namespace eplb {
namespace {

/// One a stream: while one batch is on the wire the next is being started.
constexpr std::size_t kFlightsMax = 2;

TransferEnd end_of(env::TransferSide side) {
  switch (side) {
    case env::TransferSide::kSender:
      return TransferEnd::kSource;
    case env::TransferSide::kReceiver:
      return TransferEnd::kDestination;
    case env::TransferSide::kBoth:
      return TransferEnd::kEither;
  }
  return TransferEnd::kEither;
}

}  // namespace

Outbox::Outbox(const Options& options, const env::Environment& environment)
    : options_(options),
      environment_(environment),
      end_(end_of(environment.transport.traits().side)) {}

void Outbox::load(std::shared_ptr<const MigrationSchedule> schedule, std::int64_t rearrangement) {
  EPLB_ASSERT(in_flight_.empty());
  schedule_ = std::move(schedule);
  rearrangement_ = rearrangement;
  executes_.clear();
  next_ = 0;
  barrier_ = Barrier::kNotArrived;
  failed_layer_.reset();
  local_tickets_.assign(schedule_->layers.size(), last_local_);
  const RankId rank = environment_.control_plane.rank();
  std::int64_t batches = 0;
  for (std::int32_t index = 0; index < schedule_->layer_count(); ++index) {
    const LayerSchedule& layer = schedule_->layers[static_cast<std::size_t>(index)];
    copies_.clear();
    append_local_copies(layer, rank, copies_);
    if (!copies_.empty()) {
      executes_.push_back({.layer_index = index, .batch = std::nullopt, .batches_before = batches});
    }
    for (std::size_t batch = 0; batch < layer.batches.size(); ++batch, ++batches) {
      copies_.clear();
      append_copies(layer, layer.batches[batch], rank, end_, copies_);
      if (!copies_.empty() || options_.handshake == Handshake::kBarriers) {
        executes_.push_back({.layer_index = index, .batch = batch, .batches_before = batches});
      }
    }
  }
}

bool Outbox::poll() {
  bool ended = false;
  while (!in_flight_.empty()) {
    if (environment_.fault_points.fires(env::FaultPoint::kSkippedPoll)) {
      break;
    }
    const env::Completion completion = environment_.transport.poll(in_flight_.front().ticket);
    if (completion == env::Completion::kPending) {
      break;
    }
    if (completion == env::Completion::kFailed) {
      fail_at(in_flight_.front().execute);
    }
    in_flight_.pop_front();
    ended = true;
  }
  return ended;
}

bool Outbox::rows_are_free(std::int32_t retired_layers) const {
  if (next_ == executes_.size() || failed_layer_.has_value()) {
    return false;
  }
  const std::int32_t index = executes_[next_].layer_index;
  return schedule_->layers[static_cast<std::size_t>(index)].retired_layers_needed <=
             retired_layers &&
         index - landed_layers() < options_.layers_in_flight;
}

bool Outbox::can_start(std::int32_t retired_layers) const {
  return options_.handshake == Handshake::kStatuses && rows_are_free(retired_layers) &&
         in_flight_.size() < kFlightsMax;
}

bool Outbox::start_next(std::int32_t retired_layers) {
  if (!rows_are_free(retired_layers)) {
    return false;
  }
  if (options_.handshake == Handshake::kBarriers && executes_[next_].batch.has_value()) {
    return start_between_barriers();
  }
  return in_flight_.size() < kFlightsMax && start(next_++);
}

bool Outbox::start(std::size_t index) {
  const Execute& execute = executes_[index];
  const LayerSchedule& layer = schedule_->layers[static_cast<std::size_t>(execute.layer_index)];
  const RankId rank = environment_.control_plane.rank();
  copies_.clear();
  if (execute.batch.has_value()) {
    append_copies(layer, layer.batches[*execute.batch], rank, end_, copies_);
    const Result<env::Ticket> ticket = environment_.transport.start(copies_);
    if (ticket) {
      in_flight_.push_back({.execute = index, .ticket = *ticket});
    } else {
      fail_at(index);
    }
  } else {
    append_local_copies(layer, rank, copies_);
    environment_.queues.migration.copy(copies_);
    last_local_ = environment_.queues.migration.signal();
    for (auto later = static_cast<std::size_t>(execute.layer_index); later < local_tickets_.size();
         ++later) {
      local_tickets_[later] = last_local_;
    }
  }
  environment_.trace_sink.record({.time_ns = environment_.clock.now_ns(),
                                  .rank = rank,
                                  .event = env::TraceEvent::kTransferStarted,
                                  .subject = layer.migration.layer.value,
                                  .value = static_cast<std::int64_t>(copies_.size())});
  return true;
}

// NOTE [barriers]: every rank goes through every batch, with copies of its own or without, so that
// all arrive at the same barriers: 2i before batch i of the schedule (the receivers' rows are free)
// and 2i + 1 after it (the rows have landed). The next one begins when all are at the second.
bool Outbox::start_between_barriers() {
  const std::int64_t before = 2 * executes_[next_].batches_before;
  switch (barrier_) {
    case Barrier::kNotArrived:
      arrive(before);
      barrier_ = Barrier::kBefore;
      return true;
    case Barrier::kBefore:
      if (!all_arrived(before)) {
        return false;
      }
      barrier_ = Barrier::kFlying;
      return start(next_);
    case Barrier::kFlying:
      if (!in_flight_.empty()) {
        return false;
      }
      arrive(before + 1);
      barrier_ = Barrier::kAfter;
      return true;
    case Barrier::kAfter:
      if (!all_arrived(before + 1)) {
        return false;
      }
      barrier_ = Barrier::kNotArrived;
      ++next_;
      return true;
  }
  return false;
}

void Outbox::arrive(std::int64_t barrier) {
  Status status;
  status.rank = environment_.control_plane.rank();
  status.key = {
      .channel = RoundKey::Channel::kBarrier, .rearrangement = rearrangement_, .round = barrier};
  status.state = MigrationState::kMoving;
  environment_.control_plane.post(status);
}

bool Outbox::all_arrived(std::int64_t barrier) const {
  for (std::int32_t rank = 0; rank < options_.rank_count; ++rank) {
    const RoundKey key{
        .channel = RoundKey::Channel::kBarrier, .rearrangement = rearrangement_, .round = barrier};
    if (environment_.control_plane.find(RankId{rank}, key) == nullptr) {
      return false;
    }
  }
  return true;
}

void Outbox::fail_at(std::size_t execute) {
  if (!failed_layer_.has_value() || execute < failed_execute_) {
    const auto index = static_cast<std::size_t>(executes_[execute].layer_index);
    failed_layer_ = schedule_->layers[index].migration.layer;
    failed_execute_ = execute;
  }
}

void Outbox::cancel() {
  next_ = executes_.size();
  environment_.transport.cancel();
}

bool Outbox::blocked_by_commits(std::int32_t committed_layers) const {
  if (next_ == executes_.size()) {
    return true;
  }
  const auto index = static_cast<std::size_t>(executes_[next_].layer_index);
  return schedule_->layers[index].retired_layers_needed > committed_layers;
}

std::size_t Outbox::landed_executes() const {
  const std::size_t started = in_flight_.empty() ? next_ : in_flight_.front().execute;
  return failed_layer_.has_value() ? std::min(started, failed_execute_) : started;
}

std::int32_t Outbox::landed_layers() const {
  const std::size_t landed = landed_executes();
  return landed == executes_.size() ? schedule_->layer_count() : executes_[landed].layer_index;
}

LayerId Outbox::front_layer() const {
  const std::size_t landed = landed_executes();
  if (landed == executes_.size()) {
    return LayerId{-1};
  }
  return schedule_->layers[static_cast<std::size_t>(executes_[landed].layer_index)].migration.layer;
}

bool Outbox::drained() const {
  return in_flight_.empty() &&
         (last_local_.value == 0 ||
          environment_.queues.migration.poll(last_local_) != env::Completion::kPending);
}

env::Ticket Outbox::local_copies_of(std::int32_t layer_count) const {
  EPLB_ASSERT_OP(layer_count, >, 0);
  return local_tickets_[static_cast<std::size_t>(layer_count) - 1];
}

}  // namespace eplb
