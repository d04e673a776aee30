#include "migration_machine.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "eplb/core/assert.hpp"

namespace eplb {
namespace {

/// How far a rank has come; the least of all is the laggard.
std::int64_t progress_of(const Status& status) {
  constexpr std::int64_t kLayersMax = std::int64_t{1} << 20;
  return (static_cast<std::int64_t>(status.state) * kLayersMax + status.landed_layers) *
             kLayersMax +
         status.retired_layers;
}

/// Whether the digest says what the rank has planned, or was started with.
bool has_digest(const Status& status) {
  return status.state == MigrationState::kMoving || status.state == MigrationState::kStarting;
}

}  // namespace

MigrationMachine::MigrationMachine(const Options& options, const env::Environment& environment,
                                   LoadHistory history)
    : options_(options),
      environment_(environment),
      rank_(environment.control_plane.rank()),
      outbox_({.rank_count = options.rank_count,
               .handshake = options.handshake,
               .layers_in_flight = options.layers_in_flight},
              environment),
      history_(std::move(history)),
      since_ns_(environment.clock.now_ns()),
      last_states_(static_cast<std::size_t>(options.rank_count), MigrationState::kStarting) {
  post();
}

std::int64_t MigrationMachine::lead() const {
  return pace_ == Pace::kSteps ? options_.commit_lead_steps : 0;
}

void MigrationMachine::start(Pace pace, LoadWindow* window, PlanRequest request,
                             bool even_without_load) {
  EPLB_ASSERT(state_ == MigrationState::kIdle);
  rearrangement_ = request.rearrangement;
  pace_ = pace;
  posted_rounds_ = 0;
  decided_rounds_ = 0;
  window_ = window;
  even_without_load_ = even_without_load;
  summing_ = false;
  request_ = std::move(request);
  schedule_.reset();
  committed_ = 0;
  retired_ = 0;
  retired_everywhere_ = 0;
  std::ranges::fill(last_states_, MigrationState::kIdle);  // All are known to have come so far.
  own_failure_ = {};
  if (window_ != nullptr) {
    window_->start_sum();
  }
  enter(MigrationState::kAggregating);
  trace(env::TraceEvent::kAggregating, rearrangement_, 0);
}

void MigrationMachine::drain() {
  if (rearranging() && state_ != MigrationState::kAborting && !own_failure_) {
    ask_to_abort(FailureCause::kDrained);
  }
}

void MigrationMachine::post_step() {
  if (rearranging() && pace_ == Pace::kSteps && !ended_group_) {
    check_deadlines();
    post();
  }
}

void MigrationMachine::post() {
  Status status;
  status.rank = rank_;
  status.key = {.channel = RoundKey::Channel::kAgreement,
                .rearrangement = rearrangement_,
                .round = posted_rounds_};
  status.state = state_;
  status.failure = own_failure_;
  if (state_ == MigrationState::kStarting) {
    status.digest = options_.settings_digest;
  }
  if (schedule_ != nullptr) {
    status.digest = schedule_->digest;
    status.landed_layers = outbox_.landed_layers();
    status.retired_layers = retired_;
  }
  status.drained = state_ == MigrationState::kAborting && drained();
  environment_.control_plane.post(status);
  if (environment_.fault_points.fires(env::FaultPoint::kRepeatedStatus)) {
    environment_.control_plane.post(status);
  }
  ++posted_rounds_;
}

// NOTE [rounds of a held group]: no step counts them, so a rank posts when it can do nothing more
// until all have: its copies have landed as far as committed layers leave room, and its own commits
// have retired. A failure is posted at once, and answered at once.
void MigrationMachine::post_when_quiescent() {
  if (state_ != MigrationState::kStarting && posted_rounds_ == decided_rounds_ &&
      (own_failure_ || quiescent() || peer_failed())) {
    post();
  }
}

bool MigrationMachine::peer_failed() const {
  if (state_ == MigrationState::kAborting) {
    return false;
  }
  for (std::int32_t rank = 0; rank < options_.rank_count; ++rank) {
    const Status* status = status_of(RankId{rank}, posted_rounds_);
    if (status != nullptr && status->failure) {
      return true;
    }
  }
  return false;
}

bool MigrationMachine::quiescent() const {
  if (state_ == MigrationState::kAborting) {
    return drained();
  }
  return state_ == MigrationState::kMoving && !outbox_.waits_for_landing() && retiring_.empty() &&
         outbox_.blocked_by_commits(committed_);
}

bool MigrationMachine::drained() const {
  return outbox_.drained() && retiring_.empty();
}

std::optional<Agreement> MigrationMachine::agree() {
  if (note_group_end()) {
    return Agreement{.outcome = Agreement::Outcome::kRaised};
  }
  if (ended_group_) {
    return std::nullopt;
  }
  if (state_ == MigrationState::kIdle) {
    return Agreement{};
  }
  if (holding()) {
    post_heartbeat();
    check_deadlines();
    post_when_quiescent();
  }
  const std::int64_t round = posted_rounds_ - 1 - lead();
  if (round < decided_rounds_) {
    return Agreement{};
  }
  EPLB_ASSERT_OP(round, ==, decided_rounds_);
  const std::optional<Facts> facts = facts_of(round);
  if (!facts) {
    return std::nullopt;
  }
  ++decided_rounds_;
  return decide(*facts);
}

// A rank that holds may have long work to do before it posts, which it watches itself: there it is
// gone only if nothing at all is heard of it. A rank that steps posts at every step.
void MigrationMachine::note_missing(RankId rank) {
  if (late_since_ns_ < 0) {
    late_since_ns_ = now_ns();
  }
  const std::int64_t heard_ns =
      pace_ == Pace::kHeld ? environment_.control_plane.heard_ns(rank) : 0;
  if (now_ns() - std::max(late_since_ns_, heard_ns) > options_.deadline_ns) {
    end_group(
        {.cause = FailureCause::kStatusMissing, .rank = rank, .state = last_states_[rank.index()]});
  }
}

void MigrationMachine::post_heartbeat() {
  constexpr std::int64_t kHeartbeatsPerDeadline = 8;
  if (now_ns() - heartbeat_ns_ > options_.deadline_ns / kHeartbeatsPerDeadline) {
    heartbeat_ns_ = now_ns();
    environment_.control_plane.post_heartbeat();
  }
}

// Null if a status is missing.
std::optional<MigrationMachine::Facts> MigrationMachine::facts_of(std::int64_t round) {
  Facts facts{.landed_layers = std::numeric_limits<std::int32_t>::max(),
              .retired_layers = std::numeric_limits<std::int32_t>::max()};
  std::int64_t least_progress = std::numeric_limits<std::int64_t>::max();
  const Status* first_digest = nullptr;
  bool digests_differ = false;
  for (std::int32_t index = 0; index < options_.rank_count; ++index) {
    const RankId rank{index};
    const Status* status = status_of(rank, round);
    if (status == nullptr) {
      note_missing(rank);
      return std::nullopt;
    }
    last_states_[rank.index()] = status->state;
    facts.all_planned = facts.all_planned && status->state == MigrationState::kMoving;
    facts.all_drained = facts.all_drained && status->drained;
    facts.landed_layers = std::min(facts.landed_layers, status->landed_layers);
    facts.retired_layers = std::min(facts.retired_layers, status->retired_layers);
    if (status->failure && !facts.failure) {
      facts.failure = status->failure;
    }
    if (has_digest(*status)) {
      first_digest = first_digest == nullptr ? status : first_digest;
      digests_differ = digests_differ || first_digest->digest != status->digest;
    }
    if (progress_of(*status) < least_progress) {
      least_progress = progress_of(*status);
      facts.laggard = {.cause = FailureCause::kStalled, .rank = rank, .state = status->state};
    }
  }
  late_since_ns_ = -1;
  if (!facts.failure && digests_differ) {
    facts.failure = odd_one_of(round);
  }
  return facts;
}

const Status* MigrationMachine::status_of(RankId rank, std::int64_t round) const {
  return environment_.control_plane.find(
      rank,
      {.channel = RoundKey::Channel::kAgreement, .rearrangement = rearrangement_, .round = round});
}

// The first rank that has not the digest that most have; of equally many, the lowest rank's.
Failure MigrationMachine::odd_one_of(std::int64_t round) const {
  std::vector<const Status*> statuses;
  for (std::int32_t rank = 0; rank < options_.rank_count; ++rank) {
    if (const Status* status = status_of(RankId{rank}, round); has_digest(*status)) {
      statuses.push_back(status);
    }
  }
  const auto holders = [&](const Status* of) {
    return std::ranges::count(statuses, of->digest, &Status::digest);
  };
  const Status* usual = *std::ranges::max_element(statuses, {}, holders);
  const auto odd = std::ranges::find_if(
      statuses, [&](const Status* status) { return status->digest != usual->digest; });
  return {.cause = (*odd)->state == MigrationState::kStarting ? FailureCause::kSettingsDiffer
                                                              : FailureCause::kPlansDiffer,
          .rank = (*odd)->rank,
          .state = (*odd)->state};
}

Agreement MigrationMachine::decide(const Facts& facts) {
  using Outcome = Agreement::Outcome;
  if (state_ == MigrationState::kStarting) {
    if (facts.failure) {
      stop(facts.failure);
      return {.outcome = Outcome::kRaised};
    }
    enter(MigrationState::kIdle);
    return {.outcome = Outcome::kStarted};
  }
  if (state_ == MigrationState::kAborting) {
    if (facts.all_drained) {
      enter(MigrationState::kIdle);
      trace(env::TraceEvent::kRearrangementEnd, rearrangement_, committed_);
      return {.outcome = Outcome::kAborted};
    }
    return {};
  }
  if (facts.failure) {
    abort_reason_ = facts.failure;
    trace(env::TraceEvent::kAborting, rearrangement_,
          static_cast<std::int64_t>(facts.failure.cause));
    if (options_.on_failure == OnFailure::kRaise && facts.failure.cause != FailureCause::kDrained) {
      stop(facts.failure);
      return {.outcome = Outcome::kRaised};
    }
    own_failure_ = {};
    outbox_.cancel();
    enter(MigrationState::kAborting);
    return {.outcome = Outcome::kAborting};
  }
  watch(facts);
  if (!facts.all_planned) {
    return {};
  }
  adopt_history();
  if (facts.retired_layers == schedule_->layer_count()) {
    enter(MigrationState::kIdle);
    trace(env::TraceEvent::kRearrangementEnd, rearrangement_, committed_);
    return {.outcome = Outcome::kEnded};
  }
  return {.commit_layer_count = layers_to_commit(facts.landed_layers)};
}

// Only once all ranks are known to have planned on the same parts: after an abort that some of them
// met while they still aggregated, ranks would show their policies different pasts for ever after.
void MigrationMachine::adopt_history() {
  if (!request_->history.empty()) {
    history_ = std::move(request_->history);
    request_->history.clear();
  }
}

std::int32_t MigrationMachine::layers_to_commit(std::int32_t landed_layers) const {
  std::int32_t count = 0;
  std::int64_t bytes = 0;
  while (committed_ + count < landed_layers && count < options_.layers_in_flight) {
    const auto next = static_cast<std::size_t>(committed_) + static_cast<std::size_t>(count);
    bytes += schedule_->layers[next].commit_bytes;
    if (count > 0 && bytes > options_.max_commit_bytes_per_step) {
      break;
    }
    ++count;
  }
  return count;
}

// NOTE [watchdog]: each rank watches its own work against its deadline. A rank that goes on posting
// but whose work no one watches any more (its helper is gone) is seen by the others: nothing that
// all agree on has changed for twice the deadline. Then the rank that is furthest behind is named.
// The verdict is about statuses that were posted after that time: where no step was run for long,
// those of before tell nothing.
void MigrationMachine::watch(const Facts& facts) {
  const std::int32_t landed = facts.all_planned ? facts.landed_layers : -1;
  if (landed != watched_landed_ || facts.retired_layers != watched_retired_ ||
      decided_rounds_ == 1) {
    watched_landed_ = landed;
    watched_retired_ = facts.retired_layers;
    watched_since_ns_ = now_ns();
    overdue_rounds_ = 0;
  } else if (now_ns() - watched_since_ns_ > 2 * options_.deadline_ns && !own_failure_ &&
             overdue_rounds_++ > lead()) {
    if (facts.all_planned && facts.retired_layers < committed_) {
      end_group(facts.laggard);  // Its commit never ends: what it serves is unknown.
    } else {
      own_failure_ = facts.laggard;
      trace(env::TraceEvent::kFailure, static_cast<std::int64_t>(own_failure_.cause),
            own_failure_.rank.value);
    }
  }
}

std::span<const LayerSchedule> MigrationMachine::commit(std::int32_t layer_count) {
  const auto layers =
      std::span(schedule_->layers)
          .subspan(static_cast<std::size_t>(committed_), static_cast<std::size_t>(layer_count));
  copies_.clear();
  for (const LayerSchedule& layer : layers) {
    append_commit_copies(layer, rank_, copies_);
  }
  committed_ += layer_count;
  env::Queue& forward = environment_.queues.forward;
  forward.wait(environment_.queues.migration, outbox_.local_copies_of(committed_));
  forward.copy(copies_);
  retiring_.push_back({.committed_layers = committed_, .ticket = forward.signal()});
  since_ns_ = now_ns();
  return layers;
}

void MigrationMachine::enter(MigrationState state) {
  state_ = state;
  since_ns_ = now_ns();
}

void MigrationMachine::ask_to_abort(FailureCause cause, LayerId layer) {
  own_failure_ = {.cause = cause, .rank = rank_, .state = state_, .layer = layer};
  trace(env::TraceEvent::kFailure, static_cast<std::int64_t>(cause), rank_.value);
}

void MigrationMachine::end_group(const Failure& failure) {
  ended_group_ = true;
  trace(env::TraceEvent::kFailure, static_cast<std::int64_t>(failure.cause), failure.rank.value);
  environment_.control_plane.end_group(failure);
}

void MigrationMachine::stop(const Failure& reason) {
  stop_reason_ = reason;
  state_ = MigrationState::kStopped;
}

bool MigrationMachine::note_group_end() {
  if (state_ != MigrationState::kStopped) {
    if (const std::optional<Failure> failure = environment_.control_plane.group_failure()) {
      stop(*failure);
    }
  }
  return state_ == MigrationState::kStopped;
}

void MigrationMachine::trace(env::TraceEvent event, std::int64_t subject,
                             std::int64_t value) const {
  environment_.trace_sink.record(
      {.time_ns = now_ns(), .rank = rank_, .event = event, .subject = subject, .value = value});
}

}  // namespace eplb
