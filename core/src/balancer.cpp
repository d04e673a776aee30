#include "eplb/core/balancer.hpp"

#include <algorithm>
#include <utility>

#include "eplb/core/assert.hpp"

namespace eplb {
namespace {

bool has_load(const std::vector<RealLoadMatrix>& parts) {
  return std::ranges::any_of(parts, [](const RealLoadMatrix& part) { return part.sum() > 0; });
}

}  // namespace

Result<std::unique_ptr<Balancer>> Balancer::create(Settings settings,
                                                   const env::Environment& environment) {
  if (auto valid = validate(settings.shape); !valid) {
    return tl::unexpected(valid.error());
  }
  const EplbOptions& options = settings.options;
  if (options.step_interval < 1) {
    return fail(ErrorCode::kInvalidArgument, "step interval must be at least 1");
  }
  if (options.history_parts < options.window_parts) {
    return fail(ErrorCode::kInvalidArgument, "history parts must not be fewer than window parts");
  }
  auto window = LoadWindow::create({.layer_count = settings.shape.layer_count,
                                    .expert_count = settings.shape.expert_count,
                                    .step_count_max = options.window_size,
                                    .part_count = options.window_parts,
                                    .half_life_steps = options.window_half_life_steps});
  if (!window) {
    return tl::unexpected(window.error());
  }
  return std::unique_ptr<Balancer>(
      new Balancer(std::move(settings), environment, std::move(*window)));
}

Balancer::Balancer(Settings settings, const env::Environment& environment, LoadWindow window)
    : settings_(std::move(settings)),
      environment_(environment),
      window_(std::move(window)),
      placement_(Placement::initial(settings_.shape)),
      epochs_(static_cast<std::size_t>(settings_.shape.layer_count), 0),
      counter_(settings_.options.step_interval - settings_.options.step_interval / 4),
      landing_pool_(settings_.shape.rank_count, settings_.shape.slots_per_rank()) {
  refresh_recording();
}

StepDecision Balancer::on_step(StepKind kind) {
  if (kind == StepKind::kProfile) {
    environment_.load_recorder.close_pass(false);
    return StepDecision::kProceed;
  }
  if (step_open_) {
    commit_landed_layers();
  } else {
    step_open_ = true;
    environment_.load_recorder.close_pass(recording_ && kind == StepKind::kReal);
    take_landed_loads();
    commit_landed_layers();
    advance_cadence();
  }
  const bool hold = !settings_.options.use_async && rearranging();
  trace(env::TraceEvent::kStep, step_, hold ? 1 : 0);
  if (hold) {
    return StepDecision::kHold;
  }
  step_open_ = false;
  ++step_;
  return StepDecision::kProceed;
}

void Balancer::progress() {
  if (state_ == State::kPlanning) {
    if (auto plan = environment_.planner.poll()) {
      take_plan(std::move(*plan));
    }
  }
  if (state_ == State::kMoving) {
    note_landed();
    start_next_layer();
  }
}

void Balancer::take_landed_loads() {
  while (const LoadMatrix* counts = environment_.load_recorder.try_take()) {
    const auto recorded = window_.record(*counts);
    EPLB_ASSERT(recorded.has_value());
  }
}

void Balancer::commit_landed_layers() {
  while (!in_flight_.empty() && in_flight_.front().landed) {
    const std::size_t index = in_flight_.front().plan_index;
    const LayerMigration& migration = plan_.layers[index];
    const LayerId layer = migration.layer;
    placement_ = std::move(placement_).with_layer(layer, std::move(targets_[index]));
    ++epochs_[layer.index()];
    ++committed_layer_count_;
    environment_.map_publisher.publish(layer, LayerMap::from(placement_.layer(layer)),
                                       epochs_[layer.index()]);
    landing_pool_.release(migration, settings_.shape.slots_per_rank());
    in_flight_.pop_front();
    trace(env::TraceEvent::kCommit, layer.value, epochs_[layer.index()]);
  }
  const bool all_committed = next_layer_ == plan_.layers.size() && in_flight_.empty();
  if (state_ == State::kMoving && all_committed) {
    end_rearrangement();
  }
}

// NOTE [cadence]: the order is the reference's (eplb-semantics 3.2). The counter moves on dummy
// steps too. While a rearrangement runs it goes on growing past the interval, so that the next one
// is triggered by the first step after the end.
void Balancer::advance_cadence() {
  ++counter_;
  if (counter_ >= settings_.options.step_interval && !rearranging()) {
    counter_ = 0;
    trigger();
  }
  refresh_recording();
}

void Balancer::refresh_recording() {
  const bool wanted = settings_.options.step_interval - counter_ <= settings_.options.window_size;
  if (wanted != recording_) {
    recording_ = wanted;
    environment_.load_recorder.set_recording(wanted);
    trace(env::TraceEvent::kRecording, step_, wanted ? 1 : 0);
  }
}

void Balancer::trigger() {
  std::vector<RealLoadMatrix> parts = window_.parts();
  if (!has_load(parts)) {
    // A policy would give all replicas to expert 0; without load the placement stays.
    trace(env::TraceEvent::kPlanSkipped, step_, 0);
    return;
  }
  std::ranges::move(parts, std::back_inserter(history_));
  const auto kept = static_cast<std::size_t>(settings_.options.history_parts);
  if (history_.size() > kept) {
    history_.erase(history_.begin(), history_.end() - static_cast<std::ptrdiff_t>(kept));
  }
  rearrangement_ = {.start_step = step_, .start_ns = environment_.clock.now_ns()};
  state_ = State::kPlanning;
  trace(env::TraceEvent::kPlanRequested, step_, 0);
  environment_.planner.submit({.shape = settings_.shape,
                               .topology = settings_.topology,
                               .history = history_,
                               .window_part_count = settings_.options.window_parts,
                               .current = &placement_,
                               .costs = settings_.costs});
}

void Balancer::take_plan(Result<Placement> plan) {
  if (!plan) {
    plan_error_ = plan.error();
    trace(env::TraceEvent::kPlanFailed, step_, static_cast<std::int64_t>(plan_error_->code));
    state_ = State::kIdle;
    return;
  }
  plan_error_.reset();
  plan_ = plan_migration(placement_, *plan);
  targets_.clear();
  for (const LayerMigration& layer : plan_.layers) {
    targets_.push_back(plan->layer(layer.layer));
  }
  next_layer_ = 0;
  rearrangement_.moved_experts = plan_.remote_transfer_count();
  state_ = State::kMoving;
  trace(env::TraceEvent::kPlanReady, step_, static_cast<std::int64_t>(digest(plan_)));
}

void Balancer::note_landed() {
  for (LayerInFlight& layer : in_flight_) {
    if (!layer.landed && environment_.transport.has_landed(layer.ticket)) {
      layer.landed = true;
      trace(env::TraceEvent::kTransferLanded, plan_.layers[layer.plan_index].layer.value, 0);
    }
  }
}

void Balancer::start_next_layer() {
  const bool wire_busy = !in_flight_.empty() && !in_flight_.back().landed;
  if (next_layer_ == plan_.layers.size() || wire_busy) {
    return;
  }
  const LayerMigration& layer = plan_.layers[next_layer_];
  if (!landing_pool_.try_take(layer, settings_.shape.slots_per_rank())) {
    EPLB_ASSERT(!in_flight_.empty());
    return;
  }
  in_flight_.push_back(
      {.plan_index = next_layer_, .ticket = environment_.transport.start(layer), .landed = false});
  ++next_layer_;
  trace(env::TraceEvent::kTransferStarted, layer.layer.value,
        static_cast<std::int64_t>(layer.remote.size()));
}

void Balancer::end_rearrangement() {
  rearrangement_.end_step = step_;
  rearrangement_.end_ns = environment_.clock.now_ns();
  rearrangements_.push_back(rearrangement_);
  state_ = State::kIdle;
  trace(env::TraceEvent::kRearrangementEnd, step_, rearrangement_.moved_experts);
}

void Balancer::trace(env::TraceEvent event, std::int64_t subject, std::int64_t value) const {
  environment_.trace_sink.record(
      {.time_ns = environment_.clock.now_ns(), .event = event, .subject = subject, .value = value});
}

}  // namespace eplb
