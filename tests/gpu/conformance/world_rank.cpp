#include "world_rank.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <stdexcept>
#include <thread>
#include <utility>

#include "eplb/gpu/memory/vmm_heap.hpp"
#include "eplb/gpu/run/content_check.hpp"

namespace eplb::gpu::test {
namespace {

/// All ranks share it.
constexpr int kDevice = 0;

/// For a balancer to learn that its group has ended.
constexpr std::chrono::seconds kEndMax{20};

/// Between two looks of a thread that waits.
void rest() {
  std::this_thread::sleep_for(std::chrono::microseconds(50));
}

/// Two tensors of an expert in each layer, mostly of sizes that no copy is made for.
std::vector<std::vector<std::int64_t>> tensors_of(const std::vector<std::int64_t>& row_bytes) {
  std::vector<std::vector<std::int64_t>> tensors;
  tensors.reserve(row_bytes.size());
  for (const std::int64_t bytes : row_bytes) {
    tensors.push_back({bytes - bytes / 3, bytes / 3});
  }
  return tensors;
}

}  // namespace

WorldRank::WorldRank(const Parts& parts, RankId rank,
                     std::unique_ptr<group::BoardControlPlane> control_plane)
    : parts_(parts),
      rank_(rank),
      control_plane_(std::move(control_plane)),
      policy_(*parts.options.policy) {}

WorldRank::~WorldRank() {
  lose();
}

Result<void> WorldRank::start() {
  if (auto made = make_rank(); !made) {
    return made;
  }
  make_recording();
  auto balancer = recording_->create(parts_.options.settings);
  if (!balancer) {
    return tl::unexpected(balancer.error());
  }
  balancer_ = std::move(*balancer);
  load_weights(balancer_->placement());
  forward_.emplace(shape(), environment_->forward());
  look_.emplace(shape());
  thread_ = std::make_unique<group::ProgressThread>(
      *balancer_,
      group::ProgressThread::Options{.busy_poll_ns = 100'000, .recording = &*recording_});
  engine_ = std::make_unique<eplb::test::Worker>();
  return {};
}

Result<void> WorldRank::make_rank() {
  const PeerGroup group{.rank = rank_,
                        .rank_count = shape().rank_count,
                        .device = kDevice,
                        .all_gather = [this](std::span<const std::byte> bytes) {
                          return parts_.exchange.gather(rank_, bytes);
                        }};
  GpuRankParts parts{.group = group,
                     .control_plane = *control_plane_,
                     .policy = policy_,
                     .weights = OwnWeights{tensors_of(parts_.options.settings.row_bytes)},
                     .staging = parts_.staging};
  if (const RankId refused = parts_.options.memory_refused; refused.value >= 0) {
    auto heap = VmmHeap::create(group);
    if (!heap) {
      return tl::unexpected(heap.error());
    }
    parts.heap = std::make_unique<RefusingHeap>(std::move(*heap), refused == rank_);
  }
  auto made = GpuRank::create({.shape = shape(),
                               .eplb = parts_.options.settings.options,
                               .communicator = parts_.communicator},
                              std::move(parts));
  if (!made) {
    return tl::unexpected(made.error());
  }
  environment_ = std::move(*made);
  return {};
}

void WorldRank::make_recording() {
  const env::Environment real = environment_->environment();
  forward_queue_.emplace(real.queues.forward);
  migration_queue_.emplace(real.queues.migration);
  transport_.emplace(real.transport);
  recording_.emplace(
      env::Environment{.clock = real.clock,
                       .queues = {.forward = *forward_queue_, .migration = *migration_queue_},
                       .memory = real.memory,
                       .transport = *transport_,
                       .control_plane = real.control_plane,
                       .load_recorder = real.load_recorder,
                       .map_publisher = real.map_publisher,
                       .planner = real.planner,
                       .trace_sink = real.trace_sink,
                       .fault_points = real.fault_points});
}

void WorldRank::load_weights(const Placement& placement) {
  ContentCheck(shape(), rank_)
      .fill(environment_->memory().rows().layers(), placement, environment_->forward());
}

void WorldRank::begin(std::int64_t forwards) {
  ended_ = false;
  engine_->post([this, forwards] {
    try {
      run(forwards);
    } catch (const std::exception& error) {
      note(error.what());
      threw_ = true;
      parts_.desk.abandon();
    }
    ended_ = true;
  });
}

void WorldRank::run(std::int64_t forwards) {
  for (std::int64_t forward = 0; forward < forwards && !lost_ && !stopped_; ++forward) {
    if (!run_forward()) {
      await_end();
      return;
    }
    StepDecision decision = step();
    while (decision == StepDecision::kHold && !lost_) {
      rest();
      decision = step();
    }
    if (decision == StepDecision::kStop) {
      stop();
    } else if (decision == StepDecision::kProceed) {
      ++forward_count_;
    }
  }
}

StepDecision WorldRank::step() {
  const StepDecision decision = thread_->on_step(parts_.options.kind(rank_, forward_count_));
  environment_->flush_maps();
  return decision;
}

// False if another rank has left for good. Each rank reads the slots that are its own, for the
// tokens of all, and none ends the forward before the others.
bool WorldRank::run_forward() {
  TokenDeal deal = forward_->run(parts_.options.tokens(rank_, forward_count_),
                                 [this](LayerId layer) { return environment_->mapping(layer); });
  for (const std::string& fault : deal.faults) {
    note(fault);
  }
  if (!parts_.desk.dispatch(rank_, std::move(deal.experts))) {
    return false;
  }
  check_slots();
  return parts_.desk.combine();
}

void WorldRank::check_slots() {
  const std::int32_t slots = shape().slots_per_rank();
  const std::int64_t first_slot = std::int64_t{rank_.value} * slots;
  LoadMatrix expected = LoadMatrix::Constant(shape().layer_count, slots, -1);
  for (std::int32_t sender = 0; sender < shape().rank_count; ++sender) {
    const auto sent = parts_.desk.sent(RankId{sender}).middleCols(first_slot, slots);
    for (std::int32_t layer = 0; layer < shape().layer_count; ++layer) {
      for (std::int32_t slot = 0; slot < slots; ++slot) {
        std::int64_t& expert = expected(layer, slot);
        if (expert >= 0 && sent(layer, slot) >= 0 && expert != sent(layer, slot)) {
          note("ranks expect several experts in one slot of layer " + std::to_string(layer));
        }
        expert = std::max(expert, sent(layer, slot));
      }
    }
  }
  const std::span<const LayerWeights> layers = environment_->memory().rows().layers();
  for (const SlotPlace& place : look_->differing(layers, expected, environment_->forward())) {
    note("layer " + std::to_string(place.layer.value) + " slot " +
         std::to_string(place.slot.value) + " does not hold expert " +
         std::to_string(expected(place.layer.value, place.slot.value)));
  }
}

// The others will never come to this forward: then the balancer says why, if the rank lives.
void WorldRank::await_end() {
  const auto deadline = std::chrono::steady_clock::now() + kEndMax;
  const auto knows = [this] {
    return with_balancer([](const group::Recording& /*recording*/, const Balancer& balancer) {
      return balancer.state() == MigrationState::kStopped;
    });
  };
  while (!lost_ && !knows()) {
    if (std::chrono::steady_clock::now() > deadline) {
      throw std::runtime_error("left alone in a forward, and the balancer does not know why");
    }
    rest();
  }
  if (!lost_) {
    stop();
  }
}

// The others are in a forward that this rank will never come to.
void WorldRank::stop() {
  stopped_ = true;
  parts_.desk.abandon();
}

std::optional<Failure> WorldRank::stopped() const {
  return stopped_ ? std::optional(balancer_->stop_reason()) : std::nullopt;
}

// The engine first, which may be in a forward that never ends, or ask a balancer that holds.
void WorldRank::lose() {
  lost_ = true;
  parts_.desk.abandon();
  engine_.reset();
  thread_.reset();
}

void WorldRank::tell_lost(RankId gone) {
  with_balancer([&](const group::Recording& /*recording*/, const Balancer& /*balancer*/) {
    control_plane_->end_group(
        {.cause = FailureCause::kRankLost, .rank = gone, .state = MigrationState::kIdle});
  });
}

Result<void> WorldRank::reserve_memory() {
  return with_balancer([this](group::Recording& recording, Balancer& balancer) {
    auto reserved = recording.reserve_memory(balancer);
    if (reserved) {
      load_weights(balancer.placement());
    }
    return reserved;
  });
}

bool WorldRank::holds(LayerId layer, LocalSlot slot, LogicalExpertId expert) {
  if (environment_->memory().taken_bytes() == 0) {
    return false;
  }
  LoadMatrix experts = LoadMatrix::Constant(shape().layer_count, shape().slots_per_rank(), -1);
  experts(layer.value, slot.value) = expert.value;
  return look_->differing(environment_->memory().rows().layers(), experts, environment_->forward())
      .empty();
}

std::optional<LayerMap> WorldRank::map(LayerId layer) const {
  return read_map(environment_->mapping(layer).map, shape(), environment_->forward());
}

void WorldRank::note(const std::string& fault) {
  faults_.push_back("forward " + std::to_string(forward_count_) + " of rank " +
                    std::to_string(rank_.value) + ": " + fault);
}

}  // namespace eplb::gpu::test
