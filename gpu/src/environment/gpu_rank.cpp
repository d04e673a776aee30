#include "eplb/gpu/environment/gpu_rank.hpp"

#include <cstdio>
#include <exception>
#include <optional>
#include <utility>

#include "eplb/core/layer_map.hpp"
#include "eplb/core/placement.hpp"
#include "eplb/gpu/bounded_wait.hpp"
#include "eplb/gpu/memory/device_entry.hpp"
#include "eplb/gpu/stream.hpp"
#include "eplb/group/monotonic_clock.hpp"
#include "eplb/group/planner_thread.hpp"
#include "transport_factory.hpp"

namespace eplb::gpu {
namespace {

std::optional<Stream> stream_of_our_own(const GpuRankParts& parts) {
  if (parts.forward != nullptr) {
    return std::nullopt;
  }
  const DeviceEntry entry(parts.group.device);
  return std::optional<Stream>(std::in_place);
}

Stream migration_stream(int device) {
  const DeviceEntry entry(device);
  return {};
}

DeviceMemory memory_of(SymmetricHeap& heap, GpuRankParts& parts) {
  const PeerGroup& group = parts.group;
  if (auto* own = std::get_if<OwnWeights>(&parts.weights)) {
    return {heap, group.rank, group.device, std::move(*own)};
  }
  return {heap, group.rank, group.device, std::move(std::get<EngineWeights>(parts.weights))};
}

void wait_for(StreamQueue& queue) {
  const env::Ticket ticket = queue.signal();
  wait_for_device("the end of a rank waits for its queues", [&] {
    queue.check();
    return queue.poll(ticket) != env::Completion::kPending;
  });
}

}  // namespace

/// In the order in which the parts need each other, so that they go in the opposite one.
struct GpuRank::State {
  State(GpuRankOptions with_options, GpuRankParts with_parts)
      : options(std::move(with_options)),
        group(with_parts.group),
        control_plane(with_parts.control_plane),
        own_forward(stream_of_our_own(with_parts)),
        forward(own_forward ? own_forward->get() : with_parts.forward),
        migration(migration_stream(group.device)),
        heap(std::move(with_parts.heap)),
        memory(memory_of(*heap, with_parts)),
        forward_queue(memory, forward,
                      {.device = group.device, .local_copies = LocalCopies::kKernel}),
        migration_queue(memory, migration.get(),
                        {.device = group.device, .local_copies = LocalCopies::kCopyEngines}),
        recorder({.shape = options.shape,
                  .counts_slots = options.eplb.log_balancedness,
                  .device = group.device},
                 forward),
        publisher({.maps = {.shape = options.shape,
                            .replica_count_max = options.replica_count_max,
                            .with_shares = options.eplb.replica_choice == ReplicaChoice::kShares},
                   .device = group.device},
                  forward),
        trace(options.trace_records),
        planner(with_parts.policy) {}

  void publish_initial_maps() {
    const LayerMap map = LayerMap::from(LayerPlacement::initial(options.shape));
    for (std::int32_t layer = 0; layer < options.shape.layer_count; ++layer) {
      publisher.publish(LayerId{layer}, map, 0);
    }
    publisher.flush();
  }

  GpuRankOptions options;
  PeerGroup group;
  env::ControlPlane& control_plane;
  group::MonotonicClock clock;
  env::NoFaultPoints fault_points;
  std::optional<Stream> own_forward;
  cudaStream_t forward;
  Stream migration;
  std::unique_ptr<SymmetricHeap> heap;
  DeviceMemory memory;
  StreamQueue forward_queue;
  StreamQueue migration_queue;
  MadeTransport transport;
  DeviceLoadRecorder recorder;
  DeviceMapPublisher publisher;
  group::TraceRing trace;
  group::PlannerThread planner;
};

Result<std::unique_ptr<GpuRank>> GpuRank::create(const GpuRankOptions& options,
                                                 GpuRankParts parts) {
  if (const Result<void> valid =
          validate(options.shape).and_then([&] { return check_communicator(options); });
      !valid) {
    return tl::unexpected(valid.error());
  }
  const DeviceEntry entry(parts.group.device);
  if (parts.heap == nullptr) {
    Result<std::unique_ptr<SymmetricHeap>> heap = make_heap(options.communicator, parts.group);
    if (!heap) {
      return tl::unexpected(heap.error());
    }
    parts.heap = std::move(*heap);
  }
  const std::span<std::byte> staging = parts.staging;
  auto state = std::make_unique<State>(options, std::move(parts));
  Result<MadeTransport> transport = make_transport(
      options,
      {.memory = state->memory, .clock = state->clock, .group = state->group, .staging = staging});
  if (!transport) {
    return tl::unexpected(transport.error());
  }
  state->transport = std::move(*transport);
  state->publish_initial_maps();
  return std::unique_ptr<GpuRank>(new GpuRank(std::move(state)));
}

GpuRank::GpuRank(std::unique_ptr<State> state) : state_(std::move(state)) {}

GpuRank::~GpuRank() {
  try {
    wait_for(state_->migration_queue);
    wait_for(state_->forward_queue);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "eplb: rank %d: %s\n", state_->group.rank.value, error.what());
  }
}

env::Environment GpuRank::environment() {
  return {.clock = state_->clock,
          .queues = {.forward = state_->forward_queue, .migration = state_->migration_queue},
          .memory = state_->memory,
          .transport = *state_->transport.transport,
          .control_plane = state_->control_plane,
          .load_recorder = state_->recorder,
          .map_publisher = state_->publisher,
          .planner = state_->planner,
          .trace_sink = state_->trace,
          .fault_points = state_->fault_points};
}

cudaStream_t GpuRank::forward() const {
  return state_->forward;
}

LayerMapping GpuRank::mapping(LayerId layer) const {
  const PassRecorder& passes = state_->recorder.passes();
  return {.map = state_->publisher.view(layer),
          .choice = state_->options.eplb.replica_choice,
          .rank = static_cast<std::uint32_t>(state_->group.rank.value),
          .layer = static_cast<std::uint32_t>(layer.value),
          .record_gate = passes.record_gate(),
          .logical_counts = passes.logical_counts(layer),
          .stripe_count = PassRecorder::kStripes,
          .stripe_stride = passes.stripe_stride(),
          .slot_counts = passes.slot_counts(layer),
          .slot_count = state_->options.shape.slot_count()};
}

void GpuRank::flush_maps() {
  state_->publisher.flush();
}

const DeviceMemory& GpuRank::memory() const {
  return state_->memory;
}

const DeviceLoadRecorder& GpuRank::load_recorder() const {
  return state_->recorder;
}

const group::TraceRing& GpuRank::trace() const {
  return state_->trace;
}

void GpuRank::check() {
  state_->forward_queue.check();
  state_->migration_queue.check();
  state_->transport.check();
  state_->recorder.check();
  state_->publisher.check();
}

}  // namespace eplb::gpu
