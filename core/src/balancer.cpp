#include "eplb/core/balancer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "balancer_settings.hpp"
#include "eplb/core/assert.hpp"
#include "eplb/core/balancedness.hpp"
#include "eplb/core/layer_map.hpp"
#include "migration_machine.hpp"
#include "rescaled_placement.hpp"

namespace eplb {
namespace {

constexpr std::string_view kNotDrained = "the balancer must be drained first";

/// None where this rank counts nothing.
Result<std::optional<LoadWindow>> window_for(const Balancer::Settings& settings,
                                             const env::Environment& environment) {
  if (!environment.load_recorder.counts_here()) {
    return std::nullopt;
  }
  auto window = LoadWindow::create({.layer_count = settings.shape.layer_count,
                                    .expert_count = settings.shape.expert_count,
                                    .step_count_max = settings.options.window_size,
                                    .part_count = settings.options.window_parts,
                                    .half_life_steps = settings.options.window_half_life_steps});
  if (!window) {
    return tl::unexpected(window.error());
  }
  return std::optional<LoadWindow>(std::move(*window));
}

}  // namespace

Result<std::unique_ptr<Balancer>> Balancer::create(Settings settings,
                                                   const env::Environment& environment) {
  if (settings.shape.rank_count == 1) {
    return fail(ErrorCode::kInvalidArgument, "one rank has nothing to balance");
  }
  if (auto valid = check(settings); !valid) {
    return tl::unexpected(valid.error());
  }
  const auto layers = static_cast<std::size_t>(settings.shape.layer_count);
  Snapshot start{.placement = Placement::initial(settings.shape),
                 .epochs = std::vector<env::PlacementEpoch>(layers, 0),
                 .cadence = Cadence::first_counter(settings.options.step_interval),
                 .history = {},
                 .trigger_memory = {.last_moves = std::vector<std::int64_t>(layers, 0)}};
  auto balancer = make(std::move(settings), environment, std::move(start));
  if (balancer && (*balancer)->settings_.options.replica_choice == ReplicaChoice::kNearest) {
    (*balancer)->publish_all();  // What the world began with has all replicas.
  }
  return balancer;
}

Result<std::unique_ptr<Balancer>> Balancer::join(Settings settings,
                                                 const env::Environment& environment,
                                                 Snapshot snapshot) {
  if (auto valid = check(settings); !valid) {
    return tl::unexpected(valid.error());
  }
  const auto layers = static_cast<std::size_t>(settings.shape.layer_count);
  if (snapshot.placement.shape() != settings.shape || snapshot.epochs.size() != layers ||
      snapshot.trigger_memory.last_moves.size() != layers) {
    return fail(ErrorCode::kInvalidArgument, "the snapshot is of another shape than the settings");
  }
  auto balancer = make(std::move(settings), environment, std::move(snapshot));
  if (balancer) {
    (*balancer)->publish_all();
    (*balancer)->fill_at_next_step();
  }
  return balancer;
}

Result<std::unique_ptr<Balancer>> Balancer::make(Settings settings,
                                                 const env::Environment& environment,
                                                 Snapshot start) {
  auto window = window_for(settings, environment);
  if (!window) {
    return tl::unexpected(window.error());
  }
  LoadHistory history = std::move(start.history);
  std::unique_ptr<Balancer> balancer(
      new Balancer(std::move(settings), environment, std::move(start), std::move(*window)));
  if (auto reserved = balancer->reserve(); !reserved) {
    return tl::unexpected(reserved.error());
  }
  balancer->make_machine(std::move(history));
  balancer->refresh_recording();
  return balancer;
}

Balancer::Balancer(Settings settings, const env::Environment& environment, Snapshot start,
                   std::optional<LoadWindow> window)
    : settings_(std::move(settings)),
      environment_(environment),
      rank_(environment.control_plane.rank()),
      window_(std::move(window)),
      placement_(std::move(start.placement)),
      epochs_(std::move(start.epochs)),
      cadence_({.window_size = settings_.options.window_size,
                .step_interval = settings_.options.step_interval,
                .log_interval = settings_.options.log_balancedness
                                    ? std::optional(settings_.options.log_balancedness_interval)
                                    : std::nullopt},
               start.cadence),
      step_(start.step),
      trigger_memory_(std::move(start.trigger_memory)),
      rearrangement_count_(start.rearrangement) {
  forget_shares();
}

Balancer::~Balancer() = default;

Result<void> Balancer::reserve() {
  auto reserved = environment_->memory.reserve({.slots_per_rank = settings_.shape.slots_per_rank(),
                                                .landing_rows = landing_rows_of(settings_),
                                                .row_bytes = settings_.row_bytes});
  if (!reserved) {
    environment_->control_plane.end_group(
        {.cause = FailureCause::kMemory, .rank = rank_, .state = MigrationState::kStarting});
  }
  return reserved;
}

void Balancer::make_machine(LoadHistory history) {
  const EplbOptions& options = settings_.options;
  const Snapshot start{.placement = placement_,
                       .epochs = {},
                       .step = step_,
                       .cadence = cadence_.counter(),
                       .rearrangement = rearrangement_count_,
                       .history = {},
                       .trigger_memory = trigger_memory_};
  machine_ = std::make_unique<MigrationMachine>(
      MigrationMachine::Options{
          .rank_count = settings_.shape.rank_count,
          .commit_lead_steps = options.commit_lead_steps,
          .deadline_ns = std::llround(options.deadline_ms * 1e6),
          .layers_in_flight =
              options.layers_in_flight.value_or(std::numeric_limits<std::int32_t>::max()),
          .max_commit_bytes_per_step =
              options.max_commit_bytes_per_step.value_or(std::numeric_limits<std::int64_t>::max()),
          .on_failure = options.on_failure,
          .handshake = options.handshake,
          .history_parts = options.history_parts,
          .settings_digest = digest_of(settings_, start)},
      *environment_, std::move(history));
}

StepDecision Balancer::on_step(StepKind kind) {
  if (kind == StepKind::kProfile) {
    environment_->load_recorder.close_pass(step_, {});
    return machine_->state() == MigrationState::kStopped ? StepDecision::kStop
                                                         : StepDecision::kProceed;
  }
  if (!step_open_) {
    open_step(kind);
  }
  const bool agreed = agree();
  if (machine_->state() == MigrationState::kStopped) {
    trace(env::TraceEvent::kStep, step_, 2);
    return StepDecision::kStop;
  }
  if (!agreed || machine_->holding()) {
    trace(env::TraceEvent::kStep, step_, 1);
    return StepDecision::kHold;
  }
  return close_step();
}

// NOTE [cadence]: the order is the reference's (eplb-semantics 3.2): load, log by the counter
// before it moves, counter, commits, trigger. The counter moves on dummy steps too.
void Balancer::open_step(StepKind kind) {
  step_open_ = true;
  // A drain would never end if each step put another pass and another log under way.
  const env::PassUse use{
      .record = recording_.value_or(false) && kind == StepKind::kReal && !draining_,
      .log = cadence_.log_due() && !draining_,
      .dummy = kind == StepKind::kDummy};
  environment_->load_recorder.close_pass(step_, use);
  if (recording_.value_or(false) && !draining_) {
    std::int32_t& recorded = trigger_memory_.recorded_steps;
    recorded = std::min(recorded + 1, settings_.options.window_size);
  }
  if (use.log) {
    logs_under_way_.push_back(step_);
  }
  if (window_.has_value()) {
    passes_under_way_ += use.record || use.log ? 1 : 0;
  } else if (use.log) {
    start_log(step_, {});
  }
  take_landed_loads();
  take_logs();
  cadence_.advance();
  machine_->post_step();
}

void Balancer::take_landed_loads() {
  while (const env::RecordedPass* pass = environment_->load_recorder.try_take()) {
    --passes_under_way_;
    if (pass->use.record) {
      const auto recorded = window_->record(pass->logical);
      EPLB_ASSERT(recorded.has_value());
    }
    if (pass->use.log) {
      start_log(pass->step, pass->rank_loads.size() > 0 ? pass->rank_loads : rank_loads_of(*pass));
    }
  }
}

/// A rank's load is what all ranks sent to its slots.
LoadMatrix Balancer::rank_loads_of(const env::RecordedPass& pass) const {
  const Shape& shape = settings_.shape;
  LoadMatrix loads(pass.physical.rows(), shape.rank_count);
  for (Eigen::Index layer = 0; layer < pass.physical.rows(); ++layer) {
    for (std::int32_t rank = 0; rank < shape.rank_count; ++rank) {
      const Eigen::Index first = std::int64_t{rank} * shape.slots_per_rank();
      loads(layer, rank) = pass.physical.row(layer).segment(first, shape.slots_per_rank()).sum();
    }
  }
  return loads;
}

/// A rank that counts nothing adds nothing.
void Balancer::start_log(std::int64_t step, const LoadMatrix& rank_loads) {
  const Shape& shape = settings_.shape;
  std::vector<double> loads(
      static_cast<std::size_t>(shape.layer_count) * static_cast<std::size_t>(shape.rank_count),
      0.0);
  std::transform(rank_loads.data(), rank_loads.data() + rank_loads.size(), loads.begin(),
                 [](std::int64_t load) { return static_cast<double>(load); });
  environment_->control_plane.start_sum({.kind = env::SumKey::Kind::kBalancedness, .index = step},
                                        loads);
}

void Balancer::take_logs() {
  while (!logs_under_way_.empty()) {
    const std::int64_t step = logs_under_way_.front();
    const auto sums = environment_->control_plane.try_take_sum(
        {.kind = env::SumKey::Kind::kBalancedness, .index = step});
    if (sums == nullptr) {
      return;
    }
    logs_under_way_.pop_front();
    const Balancedness measured =
        eplb::balancedness(RealLoadMatrix(Eigen::Map<const RealLoadMatrix>(
            sums->data(), settings_.shape.layer_count, settings_.shape.rank_count)));
    const BalancednessEntry entry{.step = step,
                                  .mean_load = measured.mean_load,
                                  .max_load = measured.max_load,
                                  .balancedness = measured.value};
    balancedness_ = entry;
    trace(env::TraceEvent::kBalancedness, step, std::llround(entry.balancedness * 1e6));
  }
}

/// Moves the machine on by what all ranks agreed on. False if a status is late.
bool Balancer::agree() {
  const std::optional<Agreement> agreement = machine_->agree();
  if (!agreement) {
    return false;
  }
  switch (agreement->outcome) {
    case Agreement::Outcome::kGoOn:
      commit(agreement->commit_layer_count);
      break;
    case Agreement::Outcome::kEnded:
      end_rearrangement();
      break;
    case Agreement::Outcome::kAborted:
      rearrangement_.abort = machine_->abort_reason();
      end_rearrangement();
      cadence_.wait_for_next_interval();
      break;
    case Agreement::Outcome::kStarted:
    case Agreement::Outcome::kAborting:
    case Agreement::Outcome::kRaised:
      break;
  }
  return true;
}

void Balancer::commit(std::int32_t layer_count) {
  if (layer_count == 0) {
    return;
  }
  const std::span<const LayerSchedule> layers = machine_->commit(layer_count);
  if (shares_ != nullptr) {
    // A planner may still look at those that were.
    std::vector<LayerShares> shares = *shares_;
    for (const LayerSchedule& layer : layers) {
      shares[layer.migration.layer.index()] =
          layer.shares.value_or(LayerShares::even(layer.target));
    }
    shares_ = std::make_shared<const std::vector<LayerShares>>(std::move(shares));
  }
  for (const LayerSchedule& layer : layers) {
    const LayerId id = layer.migration.layer;
    const auto moved = static_cast<std::int64_t>(layer.migration.remote.size());
    rearrangement_.moved_experts += moved;
    rearrangement_.moved_bytes += moved * settings_.row_bytes[id.index()];
    if (machine_->schedule()->verdict.has_value() && placement_.layer(id) != layer.target) {
      trigger_memory_.last_moves[id.index()] = rearrangement_count_;
    }
    placement_ = std::move(placement_).with_layer(id, layer.target);
    ++epochs_[id.index()];
    publish(id);
    trace(env::TraceEvent::kCommit, id.value, epochs_[id.index()]);
  }
  committed_layer_count_ += layer_count;
  rearrangement_.committed_layers += layer_count;
  rearrangement_.end_step = step_;
  rearrangement_.end_ns = environment_->clock.now_ns();
}

// What nobody has learnt yet is even.
void Balancer::forget_shares() {
  if (settings_.options.replica_choice != ReplicaChoice::kShares) {
    return;
  }
  std::vector<LayerShares> shares;
  shares.reserve(placement_.layers().size());
  for (const LayerPlacement& layer : placement_.layers()) {
    shares.push_back(LayerShares::even(layer));
  }
  shares_ = std::make_shared<const std::vector<LayerShares>>(std::move(shares));
}

// A group of another size has other slots: no forward may look up the maps of before.
void Balancer::publish_all() {
  for (std::int32_t index = 0; index < settings_.shape.layer_count; ++index) {
    publish(LayerId{index});
  }
}

void Balancer::publish(LayerId layer) {
  environment_->map_publisher.publish(layer, layer_map(layer), epochs_[layer.index()]);
}

LayerMap Balancer::layer_map(LayerId layer) const {
  const LayerPlacement& placement = placement_.layer(layer);
  if (settings_.options.replica_choice == ReplicaChoice::kNearest) {
    return LayerMap::nearest(placement, settings_.topology, settings_.topology.domain_of(rank_));
  }
  return shares_ == nullptr ? LayerMap::from(placement)
                            : LayerMap::from(placement, (*shares_)[layer.index()]);
}

void Balancer::end_rearrangement() {
  if (rearrangement_.committed_layers == 0) {
    rearrangement_.end_step = step_;
    rearrangement_.end_ns = environment_->clock.now_ns();
  }
  if (const MigrationSchedule* schedule = machine_->schedule(); schedule != nullptr) {
    rearrangement_.verdict = schedule->verdict;
    rearrangement_.proposed_layers = schedule->verdict.has_value()
                                         ? schedule->verdict->proposed_layers
                                         : schedule->layer_count();
  }
  rearrangements_.push_back(rearrangement_);
}

/// The last part of a step: a trigger if one is due, and the gate for the forwards to come.
StepDecision Balancer::close_step() {
  if (machine_->state() == MigrationState::kIdle &&
      (forced_.has_value() || (!draining_ && cadence_.rearrangement_due()))) {
    trigger();
  }
  refresh_recording();
  const bool hold = machine_->holding();
  trace(env::TraceEvent::kStep, step_, hold ? 1 : 0);
  if (hold) {
    return StepDecision::kHold;
  }
  step_open_ = false;
  ++step_;
  return StepDecision::kProceed;
}

void Balancer::trigger() {
  cadence_.restart();
  ++rearrangement_count_;
  const std::int64_t now_ns = environment_->clock.now_ns();
  rearrangement_ = {.start_step = step_, .start_ns = now_ns};
  const bool forced = forced_.has_value();
  const env::FaultPoints& faults = environment_->fault_points;
  const std::int64_t number = rearrangement_count_;
  const std::int32_t rows = landing_rows_of(settings_);
  PlanRequest request{
      .rearrangement = number,
      .shape = forced ? forced_->shape : settings_.shape,
      .topology = forced ? forced_->topology : settings_.topology,
      .staying = forced ? forced_->staying : std::nullopt,
      .history = {},
      .window_part_count = settings_.options.window_parts,
      .current = std::make_shared<const Placement>(placement_),
      .current_shares = shares_,
      .costs = settings_.costs,
      .window_steps = window_steps(settings_.options, trigger_memory_),
      .trigger = forced ? std::nullopt : trigger_problem(settings_, trigger_memory_, number),
      .schedule = {.landing_rows = rows,
                   .row_bytes = settings_.row_bytes,
                   .batching = settings_.options.migration_batching_enabled,
                   .one_row_batches = faults.fires_alike(env::FaultPoint::kOneRowBatches, number),
                   .every_layer = faults.fires_alike(env::FaultPoint::kEveryLayer, number),
                   .first_landing_row =
                       faults.fires_alike(env::FaultPoint::kRotatedRows, number) ? rows / 2 : 0}};
  forced_.reset();
  machine_->start(settings_.options.use_async && !forced ? Pace::kSteps : Pace::kHeld,
                  window_.has_value() ? &*window_ : nullptr, std::move(request), forced);
}

void Balancer::refresh_recording() {
  const bool wanted = cadence_.should_record();
  if (recording_ != wanted) {
    recording_ = wanted;
    environment_->load_recorder.set_recording(wanted);
    trace(env::TraceEvent::kRecording, step_, wanted ? 1 : 0);
  }
}

bool Balancer::progress() {
  take_landed_loads();
  take_logs();
  return machine_->progress();
}

MigrationState Balancer::state() const {
  return machine_->state();
}

const Failure& Balancer::stop_reason() const {
  return machine_->stop_reason();
}

void Balancer::drain() {
  draining_ = true;
  machine_->drain();
}

bool Balancer::drained() const {
  return machine_->state() == MigrationState::kIdle && passes_under_way_ == 0 &&
         logs_under_way_.empty() && !step_open_;
}

Result<void> Balancer::release_memory() {
  if (!drained()) {
    return fail(ErrorCode::kAborted, std::string(kNotDrained));
  }
  environment_->memory.release();
  return {};
}

Result<void> Balancer::reserve_memory() {
  return reserve();
}

Result<void> Balancer::vacate(std::vector<RankId> staying, Topology topology) {
  if (!drained()) {
    return fail(ErrorCode::kAborted, std::string(kNotDrained));
  }
  const bool ascending = std::ranges::adjacent_find(staying, std::ranges::greater_equal{},
                                                    &RankId::value) == staying.end();
  if (staying.empty() || !ascending || staying.front().value < 0 ||
      staying.back().value >= settings_.shape.rank_count) {
    return fail(ErrorCode::kInvalidArgument, "staying ranks must be members, ascending");
  }
  const Shape shape = with_ranks(settings_.shape, static_cast<std::int32_t>(staying.size()));
  if (auto valid = validate(shape); !valid) {
    return valid;
  }
  forced_ = {.staying = std::move(staying), .shape = shape, .topology = std::move(topology)};
  return {};
}

Result<Balancer::Snapshot> Balancer::snapshot_for(const RankMapping& mapping,
                                                  std::int32_t rank_count) const {
  if (!drained()) {
    return fail(ErrorCode::kAborted, std::string(kNotDrained));
  }
  auto placement = rescaled(placement_, mapping, rank_count);
  if (!placement) {
    return tl::unexpected(placement.error());
  }
  return Snapshot{.placement = std::move(*placement),
                  .epochs = epochs_,
                  .step = step_,
                  .cadence = cadence_.counter(),
                  .rearrangement = rearrangement_count_,
                  .history = machine_->history(),
                  .trigger_memory = trigger_memory_};
}

Result<void> Balancer::rescale(const env::Environment& environment, const RankMapping& mapping,
                               Topology topology) {
  auto snapshot = snapshot_for(mapping, topology.rank_count());
  if (!snapshot) {
    return tl::unexpected(snapshot.error());
  }
  Settings settings = settings_;
  settings.shape = snapshot->placement.shape();
  settings.topology = std::move(topology);
  if (auto valid = check(settings); !valid) {
    return valid;
  }
  if (!window_.has_value()) {
    auto window = window_for(settings, environment);
    if (!window) {
      return tl::unexpected(window.error());
    }
    window_ = std::move(*window);
  } else if (!environment.load_recorder.counts_here()) {
    window_.reset();
  }
  settings_ = std::move(settings);
  placement_ = std::move(snapshot->placement);
  forget_shares();
  environment_.emplace(environment);
  rank_ = environment.control_plane.rank();
  recording_.reset();
  if (auto reserved = reserve(); !reserved) {
    return reserved;
  }
  make_machine(machine_->history());
  refresh_recording();
  publish_all();
  fill_at_next_step();
  return {};
}

void Balancer::fill_at_next_step() {
  forced_ = {.staying = std::nullopt, .shape = settings_.shape, .topology = settings_.topology};
}

void Balancer::trace(env::TraceEvent event, std::int64_t subject, std::int64_t value) const {
  environment_->trace_sink.record({.time_ns = environment_->clock.now_ns(),
                                   .rank = rank_,
                                   .event = event,
                                   .subject = subject,
                                   .value = value});
}

}  // namespace eplb
