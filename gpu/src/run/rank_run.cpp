#include "rank_run.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <thread>
#include <utility>

#include "eplb/core/balancedness.hpp"
#include "eplb/gpu/error.hpp"
#include "eplb/gpu/memory/device_entry.hpp"
#include "eplb/gpu/memory/vmm_heap.hpp"
#include "eplb/gpu/run/map_check.hpp"

namespace eplb::gpu {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// Steps between two looks at how rows fall on ranks.
constexpr std::int64_t kBalanceInterval = 16;

/// Steps between two looks for a fault of the device, which no poll sees.
constexpr std::int64_t kStepsPerCheck = 64;

/// Words between two that a sampled digest reads.
constexpr std::int32_t kSampleStride = 64;

std::int64_t ns_since(SteadyClock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(SteadyClock::now() - begin).count();
}

std::int64_t ns_between(const Event& begin, const Event& end) {
  return static_cast<std::int64_t>(elapsed_us(begin, end) * 1000);
}

/// Without EPLB there is a balancer all the same, whose first rearrangement no run lives to see.
EplbOptions in_effect(EplbOptions options) {
  if (!options.enabled) {
    options.step_interval = std::numeric_limits<std::int32_t>::max();
    options.log_balancedness = false;
  }
  return options;
}

}  // namespace

RankRun::RankRun(const ServeOptions& options, const ServeParts& parts, const ServedRank& place,
                 group::RankExchange& exchange, std::span<std::byte> staging)
    : options_(options),
      eplb_(in_effect(options.eplb)),
      parts_(parts),
      place_(place),
      exchange_(exchange),
      staging_(staging),
      control_plane_(parts.membership.control_plane(place.rank)),
      barrier_(parts.membership.step_barrier(place.rank)),
      popularities_(parts.popularities()) {}

RankRun::~RankRun() {
  drill_.reset();
  progress_.reset();
}

PeerGroup RankRun::peers() const {
  return {.rank = place_.rank,
          .rank_count = options_.shape.rank_count,
          .device = place_.device,
          .all_gather = [this](std::span<const std::byte> bytes) {
            return exchange_.gather(place_.rank, bytes);
          }};
}

Result<void> RankRun::prepare() {
  EPLB_CUDA(cudaSetDevice(place_.device));
  if (auto reserved = reserve_tallies(); !reserved) {
    return reserved;
  }
  auto rank = GpuRank::create(
      {.shape = options_.shape, .eplb = eplb_, .communicator = options_.communicator},
      {.group = peers(),
       .control_plane = *control_plane_,
       .policy = parts_.policy,
       .weights = OwnWeights{options_.tensor_bytes},
       .staging = staging_});
  if (!rank) {
    return tl::unexpected(rank.error());
  }
  rank_ = std::move(*rank);
  if (auto made = make_balancer(); !made) {
    return made;
  }
  const std::span<const LayerWeights> layers = rank_->memory().rows().layers();
  content_check_ = std::make_unique<ContentCheck>(options_.shape, place_.rank);
  content_check_->fill(layers, balancer_->placement(), rank_->forward());

  DecodeOptions decode = options_.decode;
  decode.shape = options_.shape;
  decode.rank = place_.rank;
  decode.block_count = std::max(multiprocessor_count() / place_.ranks_on_device, 1);
  forward_ = std::make_unique<DecodeForward>(
      decode, DecodeForward::Parts{.mapping = [this](LayerId id) { return rank_->mapping(id); },
                                   .layers = layers,
                                   .tallies = tally_heap_->bases(),
                                   .stream = rank_->forward()});
  timeline_.emplace(std::vector<cudaStream_t>{rank_->forward()});
  forward_begin_.emplace(Event::Timing::kOn);
  forward_end_.emplace(Event::Timing::kOn);
  boundary_begin_.emplace(Event::Timing::kOn);
  boundary_end_.emplace(Event::Timing::kOn);
  drill_ = std::make_unique<FaultDrill>(options_.faults, place_.rank);
  drill_->look(balancer_->state());
  progress_ = std::make_unique<group::ProgressThread>(
      *balancer_, group::ProgressThread::Options{
                      .on_start = [device = place_.device] { EPLB_CUDA(cudaSetDevice(device)); },
                      .recording = recording_.get()});
  drill_->watch([this] { return state(); });
  return {};
}

MigrationState RankRun::state() {
  return progress_->with_balancer([](const Balancer& balancer) { return balancer.state(); });
}

Result<void> RankRun::reserve_tallies() {
  const PickTallies shape{.layer_count = options_.shape.layer_count,
                          .slot_count = options_.shape.slot_count()};
  auto heap = VmmHeap::create(peers());
  if (!heap) {
    return tl::unexpected(heap.error());
  }
  tally_heap_ = std::move(*heap);
  if (auto reserved = tally_heap_->reserve(shape.bytes(), {}); !reserved) {
    return reserved;
  }
  const Stream stream;
  EPLB_CUDA(cudaMemsetAsync(tally_heap_->bases()[place_.rank.index()], 0,
                            static_cast<std::size_t>(shape.bytes()), stream.get()));
  stream.synchronize();
  host_tallies_ = std::make_unique<PinnedBuffer<std::int32_t>>(
      static_cast<std::size_t>(shape.layer_count) * static_cast<std::size_t>(shape.slot_count));
  return {};
}

Result<void> RankRun::make_balancer() {
  Balancer::Settings settings{.options = eplb_,
                              .shape = options_.shape,
                              .topology = parts_.topology,
                              .costs = options_.costs,
                              .row_bytes = {}};
  for (const auto& tensors : options_.tensor_bytes) {
    settings.row_bytes.push_back(std::accumulate(tensors.begin(), tensors.end(), std::int64_t{0}));
  }
  env::Environment environment = rank_->environment();
  pass_check_ = std::make_unique<PassCheck>(
      environment.load_recorder, environment.map_publisher,
      PassCheck::Options{
          .picks_per_layer = std::int64_t{options_.decode.row_count} * options_.decode.top_k,
          .initial = Placement::initial(options_.shape)});
  const env::Environment checked{.clock = environment.clock,
                                 .queues = environment.queues,
                                 .memory = environment.memory,
                                 .transport = environment.transport,
                                 .control_plane = environment.control_plane,
                                 .load_recorder = *pass_check_,
                                 .map_publisher = *pass_check_,
                                 .planner = environment.planner,
                                 .trace_sink = environment.trace_sink,
                                 .fault_points = environment.fault_points};
  if (options_.replays) {
    recording_ = std::make_unique<group::Recording>(checked);
  }
  auto balancer =
      recording_ ? recording_->create(settings) : Balancer::create(std::move(settings), checked);
  if (!balancer) {
    return tl::unexpected(balancer.error());
  }
  balancer_ = std::move(*balancer);
  rank_->flush_maps();
  return {};
}

Result<void> RankRun::serve() {
  const std::int64_t step_total = options_.warmup_steps + options_.steps;
  step_ms_.reserve(static_cast<std::size_t>(options_.steps));
  auto measured_from = SteadyClock::now();
  for (std::int64_t step = 1; step <= step_total; ++step) {
    if (step == options_.warmup_steps + 1) {
      measured_from = SteadyClock::now();
    }
    const auto begin = SteadyClock::now();
    unaccounted_ns_ = 0;
    const auto went_on = run_step(step, StepKind::kReal);
    if (!went_on) {
      return tl::unexpected(went_on.error());
    }
    if (!*went_on) {
      // The group's reason is told whether or not this device still answers.
      static_cast<void>(close_figures());
      return {};
    }
    if (step > options_.warmup_steps) {
      step_ms_.push_back(static_cast<double>(ns_since(begin) - unaccounted_ns_) / 1e6);
    }
    verify_if_rearranged(step);
    if (parts_.progress && place_.rank == parts_.ranks.front().rank) {
      parts_.progress(step);
    }
  }
  measured_s_ = static_cast<double>(ns_since(measured_from)) / 1e9;
  if (auto drained = drain(); !drained) {
    return drained;
  }
  if (auto closed = close_figures(); !closed) {
    return closed;
  }
  return replay();
}

Result<void> RankRun::replay() {
  if (recording_ == nullptr) {
    return {};
  }
  return progress_->with_balancer([this](const Balancer& balancer) -> Result<void> {
    const auto replayed = group::replay(balancer.settings(), recording_->calls());
    if (!replayed) {
      return tl::unexpected(replayed.error());
    }
    if (*replayed != balancer.placement()) {
      return fail(ErrorCode::kInternal, "the replayed balancer ends with another placement");
    }
    figures_.calls_replayed = static_cast<std::int64_t>(recording_->calls().size());
    return {};
  });
}

Result<bool> RankRun::run_step(std::int64_t step, StepKind kind) {
  const auto arrived = SteadyClock::now();
  if (const auto come = barrier_.wait(step, options_.step_deadline_ms); !come) {
    return false;  // The group has ended, by now at the latest: stop_reason says why.
  }
  StepShape shape{.measured = step > options_.warmup_steps && kind == StepKind::kReal};
  figures_.barrier_ns += shape.measured ? ns_since(arrived) : 0;
  if (place_.rank == parts_.ranks.front().rank && step % kBalanceInterval == 1 && step > 1) {
    sample_balance(step - 1);
  }
  if (const RealLoadMatrix* popularities = popularities_(step - 1); popularities != nullptr) {
    forward_->set_popularities(*popularities);
  }
  cudaStream_t stream = rank_->forward();
  forward_begin_->record(stream);
  forward_->launch(step);
  forward_end_->record(stream);
  boundary_begin_->record(stream);  // A mark takes time too: the pair says how much.
  // As late as the device still has something to do, so that what lands during this forward is told
  // in this step, and not in the next.
  if (auto waited = wait_for_late_forward(); !waited) {
    return tl::unexpected(waited.error());
  }
  drill_->delay_host();
  shape.rearranging = state() != MigrationState::kIdle;
  const auto decision = ask(kind);
  if (!decision) {
    return tl::unexpected(decision.error());
  }
  if (*decision == StepDecision::kStop) {
    return false;
  }
  rank_->flush_maps();
  boundary_end_->record(stream);
  if (auto waited = wait_for_device(); !waited) {
    return tl::unexpected(waited.error());
  }
  if (step % kStepsPerCheck == 0) {
    progress_->with_balancer([this](const Balancer& /*balancer*/) { rank_->check(); });
  }
  const std::int64_t committed = progress_->with_balancer(
      [](const Balancer& balancer) { return balancer.committed_layer_count(); });
  shape.committed = committed > std::exchange(committed_layers_, committed);
  keep_figures(shape);
  return true;
}

Result<StepDecision> RankRun::ask(StepKind kind) {
  constexpr std::chrono::microseconds kHoldPause{20};
  const auto begin = SteadyClock::now();
  StepDecision decision = progress_->on_step(kind);
  const std::int64_t asked_ns = ns_since(begin);
  figures_.on_step_ns += asked_ns;
  figures_.longest_on_step_ns = std::max(figures_.longest_on_step_ns, asked_ns);
  if (decision != StepDecision::kHold) {
    return decision;
  }
  ++figures_.hold_count;
  while (decision == StepDecision::kHold) {
    if (ns_since(begin) > options_.step_deadline_ms * 1'000'000) {
      return fail(ErrorCode::kTimeout, "rank " + std::to_string(place_.rank.value) +
                                           " was held beyond the deadline of a step");
    }
    std::this_thread::sleep_for(kHoldPause);
    decision = progress_->on_step(kind);
  }
  figures_.hold_ns += ns_since(begin);
  return decision;
}

Result<void> RankRun::wait_for_device() {
  const env::Ticket ticket = timeline_->next();
  timeline_->mark(ticket);
  return wait_until([&] { return timeline_->poll(ticket); });
}

// A device that has failed never says that it is nearly done, but its event throws.
Result<void> RankRun::wait_for_late_forward() {
  constexpr std::int32_t kLooksPerQuery = 4096;
  std::int32_t looks = 0;
  return wait_until([&] {
    const bool is_late =
        forward_->nears_its_end() || (++looks % kLooksPerQuery == 0 && forward_end_->is_past());
    return is_late ? env::Completion::kDone : env::Completion::kPending;
  });
}

Result<void> RankRun::wait_until(const std::function<env::Completion()>& looked) {
  constexpr std::int32_t kLooksPerCheck = 4096;
  const auto begin = SteadyClock::now();
  for (std::int32_t looks = 1;; ++looks) {
    const env::Completion completion = looked();
    if (completion == env::Completion::kDone) {
      return {};
    }
    if (completion == env::Completion::kFailed) {
      return fail(ErrorCode::kDevice, "a forward has failed on the device");
    }
    if (looks % kLooksPerCheck == 0) {
      timeline_->check();
      if (ns_since(begin) > options_.step_deadline_ms * 1'000'000) {
        return fail(ErrorCode::kTimeout, "a forward did not end within its deadline");
      }
      std::this_thread::yield();
    }
  }
}

Result<void> RankRun::drain() {
  progress_->with_balancer([this](Balancer& balancer) {
    if (recording_) {
      recording_->drain(balancer);
    } else {
      balancer.drain();
    }
  });
  const auto begin = SteadyClock::now();
  for (std::int64_t step = options_.warmup_steps + options_.steps + 1;; ++step) {
    const auto went_on = run_step(step, StepKind::kDummy);
    if (!went_on || !*went_on) {
      return went_on ? Result<void>{} : tl::unexpected(went_on.error());
    }
    verify_if_rearranged(step);
    const bool drained =
        progress_->with_balancer([](const Balancer& balancer) { return balancer.drained(); });
    const std::byte mine{static_cast<unsigned char>(drained ? 1 : 0)};
    const auto all = exchange_.gather(place_.rank, {&mine, 1});
    if (all.empty() || ns_since(begin) > options_.step_deadline_ms * 1'000'000) {
      return fail(ErrorCode::kTimeout, "the last rearrangement did not end");
    }
    if (std::ranges::all_of(
            all, [](const auto& theirs) { return theirs == std::vector{std::byte{1}}; })) {
      return {};
    }
  }
}

void RankRun::keep_figures(const StepShape& shape) {
  if (!shape.measured) {
    return;
  }
  ++figures_.steps;
  figures_.forward_ns += ns_between(*forward_begin_, *forward_end_);
  const std::int64_t mark_ns = ns_between(*forward_end_, *boundary_begin_);
  const std::int64_t boundary_ns =
      std::max<std::int64_t>(ns_between(*boundary_begin_, *boundary_end_) - mark_ns, 0);
  figures_.mark_ns += mark_ns;
  if (shape.committed) {
    ++figures_.commit_count;
    figures_.commit_ns += boundary_ns;
    return;
  }
  ++figures_.plain_boundary_count;
  figures_.plain_boundary_ns += boundary_ns;
  if (shape.rearranging) {
    ++figures_.busy_boundary_count;
    figures_.busy_boundary_ns += boundary_ns;
  }
}

// All ranks have ended the step and none writes its tallies before the step after the next.
void RankRun::sample_balance(std::int64_t step) {
  const auto begin = SteadyClock::now();
  const Shape& shape = options_.shape;
  const std::size_t count = host_tallies_->size();
  RankLoadMatrix loads = RankLoadMatrix::Zero(shape.layer_count, shape.rank_count);
  for (const std::byte* base : tally_heap_->bases()) {
    const auto* tallies =
        reinterpret_cast<const std::int32_t*>(base) + static_cast<std::size_t>(step % 2) * count;
    EPLB_CUDA(cudaMemcpyAsync(host_tallies_->data(), tallies, count * sizeof(std::int32_t),
                              cudaMemcpyDefault, rank_->forward()));
    EPLB_CUDA(cudaStreamSynchronize(rank_->forward()));
    for (std::size_t index = 0; index < count; ++index) {
      const auto slot =
          static_cast<std::int32_t>(index % static_cast<std::size_t>(shape.slot_count()));
      const auto layer =
          static_cast<Eigen::Index>(index / static_cast<std::size_t>(shape.slot_count()));
      loads(layer, slot / shape.slots_per_rank()) += host_tallies_->span()[index];
    }
  }
  const Balancedness now = balancedness(loads);
  balance_.push_back({.step = step,
                      .balancedness = now.value,
                      .min_layer = now.min_layer,
                      .before_first_commit = committed_layers_ == 0,
                      .after_first_rearrangement = rearrangements_seen_ > 0});
  unaccounted_ns_ += ns_since(begin);
}

void RankRun::verify_if_rearranged(std::int64_t step) {
  const auto ended = progress_->with_balancer([](const Balancer& balancer) {
    return static_cast<std::int64_t>(balancer.rearrangements().size());
  });
  if (ended == rearrangements_seen_) {
    return;
  }
  note_transfers(ended - std::exchange(rearrangements_seen_, ended));
  if (options_.verification == Verification::kServed) {
    return;
  }
  const Placement placement =
      progress_->with_balancer([](const Balancer& balancer) { return balancer.placement(); });
  const std::int32_t stride = options_.verification == Verification::kEveryByte ? 1 : kSampleStride;
  const ContentFindings findings = content_check_->check(rank_->memory().rows().layers(), placement,
                                                         stride, step, rank_->forward());
  figures_.rows_checked += findings.rows_checked;
  figures_.rows_wrong += findings.rows_wrong;
  for (std::int32_t layer = 0; layer < options_.shape.layer_count; ++layer) {
    const LayerId id{layer};
    const LayerMap map =
        progress_->with_balancer([id](const Balancer& balancer) { return balancer.layer_map(id); });
    ++figures_.maps_checked;
    figures_.maps_wrong += holds(rank_->mapping(id).map, map, rank_->forward()) ? 0 : 1;
  }
}

void RankRun::note_transfers(std::int64_t ended_count) {
  const std::vector<group::TransferTime> times = group::transfer_times(rank_->trace().records());
  for (auto back = static_cast<std::size_t>(ended_count); back > 0; --back) {
    wire_ns_.push_back(back <= times.size() ? times[times.size() - back].ns : 0);
  }
}

Result<void> RankRun::close_figures() {
  forward_->fetch_report();
  if (auto waited = wait_for_device(); !waited) {
    return waited;
  }
  const ServiceReport& report = forward_->report();
  figures_.words_checked = static_cast<std::int64_t>(report.words_checked);
  figures_.words_wrong = static_cast<std::int64_t>(report.words_wrong);
  if (const auto gangs = forward_->gang_report()) {
    figures_.gangs_ended = gangs->ended_count;
    figures_.gangs_ran_out = gangs->ran_out;
  }
  progress_->with_balancer([&](const Balancer& /*balancer*/) {
    const PassFindings& passes = pass_check_->findings();
    figures_.passes_checked = passes.passes_checked;
    figures_.passes_wrong = passes.passes_wrong;
    figures_.logged_checked = passes.logged_checked;
  });
  figures_.longest_progress_ns = progress_->longest_progress_ns();
  figures_.committed_layers = committed_layers_;
  const RankWeights& rows = rank_->memory().rows();
  for (const LayerWeights& layer : rows.layers()) {
    figures_.weights_bytes += layer.row_width_bytes() * options_.shape.slots_per_rank();
  }
  const LayerMapView map = rank_->mapping(LayerId{0}).map;
  figures_.maps_bytes =
      static_cast<std::int64_t>(map_entries(map.expert_count, map.tail_width) * sizeof(MapEntry)) *
      options_.shape.layer_count;
  figures_.landing_bytes = rows.landing().row_stride_bytes * rows.landing().row_count;
  return {};
}

std::vector<Rearrangement> RankRun::rearrangements() {
  return progress_->with_balancer([](const Balancer& balancer) {
    return std::vector<Rearrangement>(balancer.rearrangements().begin(),
                                      balancer.rearrangements().end());
  });
}

Failure RankRun::stop_reason() {
  const Failure own =
      progress_->with_balancer([](const Balancer& balancer) { return balancer.stop_reason(); });
  // The group may have ended while the balancer was not asked.
  return own ? own : parts_.membership.board().failure().value_or(Failure{});
}

}  // namespace eplb::gpu
