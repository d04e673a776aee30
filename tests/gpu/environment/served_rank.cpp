#include "served_rank.hpp"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <thread>
#include <utility>

#include "eplb/core/topology.hpp"
#include "eplb/gpu/memory/device_entry.hpp"
#include "eplb/gpu/memory/row_digest.hpp"
#include "watched_calls.hpp"

namespace eplb::gpu::test {
namespace {

constexpr std::chrono::seconds kHoldMax{20};
constexpr std::int32_t kWindowParts = 2;

/// Tensors of odd sizes, others in every layer.
std::vector<std::vector<std::int64_t>> tensor_bytes(const Shape& shape) {
  std::vector<std::vector<std::int64_t>> layers;
  layers.reserve(static_cast<std::size_t>(shape.layer_count));
  for (std::int32_t layer = 0; layer < shape.layer_count; ++layer) {
    layers.push_back({40'960, 1'284, 20'480 + 16 * layer, 641});
  }
  return layers;
}

Balancer::Settings settings_of(const ServedOptions& options) {
  const Shape shape = ServedRank::shape();
  const std::int32_t ranks = shape.rank_count;
  Balancer::Settings settings{
      .options = {},
      .shape = shape,
      .topology = Topology::create(
                      {.rank_count = ranks, .ranks_per_node = ranks, .ranks_per_domain = ranks})
                      .value(),
      .costs = {},
      .row_bytes = {}};
  EplbOptions& eplb = settings.options;
  eplb.num_redundant_experts = shape.redundant_slot_count;
  // So short that the gate shuts and opens in every interval.
  eplb.window_size = 2;
  eplb.window_parts = kWindowParts;
  eplb.step_interval = 10;
  eplb.log_balancedness = true;
  eplb.log_balancedness_interval = 5;
  eplb.use_async = options.use_async;
  eplb.communicator = options.communicator;
  eplb.replica_choice = ReplicaChoice::kSalted;
  for (const std::vector<std::int64_t>& tensors : tensor_bytes(shape)) {
    std::int64_t bytes = 0;
    for (const std::int64_t tensor : tensors) {
      bytes += tensor;
    }
    settings.row_bytes.push_back(bytes);
  }
  return settings;
}

/// Rank 0 makes it, and all ranks of the process use it.
group::Membership& membership_of_all(const PeerGroup& group,
                                     std::unique_ptr<group::Membership>& owner) {
  std::uintptr_t address = 0;
  if (group.rank.value == 0) {
    owner = group::Membership::alone(group.rank_count,
                                     group::SumSizes::of(ServedRank::shape(), kWindowParts))
                .value();
    address = reinterpret_cast<std::uintptr_t>(owner.get());
  }
  std::vector<std::byte> bytes(sizeof(address));
  std::memcpy(bytes.data(), &address, sizeof(address));
  const std::vector<std::vector<std::byte>> all = group.all_gather(bytes);
  std::memcpy(&address, all.at(0).data(), sizeof(address));
  // NOLINTNEXTLINE(performance-no-int-to-ptr): what ranks exchange are bytes, and all are threads.
  return *reinterpret_cast<group::Membership*>(address);
}

template <typename T>
T required(Result<T> result, const char* what) {
  if (!result) {
    throw std::runtime_error(std::string(what) + ": " + result.error().message);
  }
  return std::move(*result);
}

void require(const Result<void>& result, const char* what) {
  if (!result) {
    throw std::runtime_error(std::string(what) + ": " + result.error().message);
  }
}

}  // namespace

Shape ServedRank::shape() {
  return {.layer_count = 5, .expert_count = 24, .redundant_slot_count = 8, .rank_count = kRanks};
}

ServedRank::ServedRank(Checks& checks, const RankSetting& setting, const ServedOptions& options)
    : checks_(checks),
      group_(setting.group),
      options_(options),
      shared_draw_(options.seed),
      own_draw_(options.seed + 1 + setting.group.rank.index()),
      experts_(static_cast<std::size_t>(shape().slots_per_rank())),
      digests_(experts_.size()),
      expected_digests_(experts_.size()) {
  const Balancer::Settings settings = settings_of(options);
  control_plane_ = membership_of_all(group_, membership_).control_plane(group_.rank);
  rank_ = required(
      GpuRank::create(
          {.shape = shape(), .eplb = settings.options, .communicator = options.communicator},
          {.group = group_,
           .control_plane = *control_plane_,
           .policy = policy_,
           .weights = weights(),
           .forward = options.has_engine ? engine_stream_.get() : nullptr,
           .staging = setting.shared}),
      "a rank's environment");
  forward_.emplace(shape(), own_draw_, rank_->forward());
  const env::Environment real = rank_->environment();
  recorder_.emplace(real.load_recorder);
  balancer_ = required(Balancer::create(settings, {.clock = real.clock,
                                                   .queues = real.queues,
                                                   .memory = real.memory,
                                                   .transport = real.transport,
                                                   .control_plane = real.control_plane,
                                                   .load_recorder = *recorder_,
                                                   .map_publisher = real.map_publisher,
                                                   .planner = real.planner,
                                                   .trace_sink = real.trace_sink,
                                                   .fault_points = real.fault_points}),
                       "a balancer");
  maps_ = maps_of(balancer_->placement());
  load_weights();
  verify();
  // The thread is on the step path for as long as it lives.
  progress_ = std::make_unique<group::ProgressThread>(
      *balancer_, group::ProgressThread::Options{
                      .on_start = [] { thread_local const OnStepPath on_step_path; }});
}

ServedRank::~ServedRank() {
  progress_.reset();
  balancer_.reset();
  static_cast<void>(group_.all_gather({}));
  rank_.reset();
  control_plane_.reset();
  static_cast<void>(group_.all_gather({}));
  if (membership_ != nullptr) {
    membership_->leave();
  }
}

std::variant<OwnWeights, EngineWeights> ServedRank::weights() {
  constexpr std::int64_t kBetweenRows = 96;
  if (!options_.has_engine) {
    return OwnWeights{.tensor_bytes = tensor_bytes(shape())};
  }
  EngineWeights weights;
  for (const std::vector<std::int64_t>& sizes : tensor_bytes(shape())) {
    std::vector<WeightTensor>& tensors = weights.layers.emplace_back();
    for (const std::int64_t bytes : sizes) {
      const std::int64_t stride_bytes = bytes + kBetweenRows;
      engine_buffers_.emplace_back(
          static_cast<std::size_t>(stride_bytes * shape().slots_per_rank()));
      tensors.push_back({.base = engine_buffers_.back().data(),
                         .row_bytes = bytes,
                         .row_stride_bytes = stride_bytes});
    }
  }
  return weights;
}

void ServedRank::load_weights() {
  const DeviceEntry entry(group_.device);
  const std::span<const LayerWeights> layers = rank_->memory().rows().layers();
  for (std::int32_t layer = 0; layer < shape().layer_count; ++layer) {
    const std::span<const LogicalExpertId> held =
        balancer_->placement().layer(LayerId{layer}).on_rank(group_.rank);
    for (std::size_t slot = 0; slot < held.size(); ++slot) {
      fill_row(
          layers[static_cast<std::size_t>(layer)].tensors(),
          {.layer = LayerId{layer}, .expert = held[slot], .row = static_cast<std::int32_t>(slot)},
          rank_->forward());
    }
  }
  EPLB_CUDA(cudaStreamSynchronize(rank_->forward()));
}

StepKind ServedRank::drawn_kind() {
  if (shared_draw_.chance(0.05)) {
    return StepKind::kProfile;  // It moves no counter, so it is one on all ranks.
  }
  return own_draw_.chance(0.1) ? StepKind::kDummy : StepKind::kReal;
}

void ServedRank::step() {
  const auto mapping_of = [this](LayerId layer) { return rank_->mapping(layer); };
  const std::int32_t kind = own_draw_.below(DrawnForward::kKinds);
  forward_->launch(kind, mapping_of, rank_->forward());
  recorder_->expect(forward_->counts(kind, mapping_of, maps_));
  const StepKind step_kind = drawn_kind();
  const auto deadline = std::chrono::steady_clock::now() + kHoldMax;
  while (true) {
    StepDecision decision = StepDecision::kStop;
    {
      const OnStepPath on_step_path;
      decision = progress_->on_step(step_kind);
      rank_->flush_maps();
    }
    if (decision == StepDecision::kProceed) {
      break;
    }
    if (decision == StepDecision::kStop || std::chrono::steady_clock::now() > deadline) {
      throw std::runtime_error(named(
          decision == StepDecision::kStop ? describe(balancer_->stop_reason()) : "held for ever"));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  ++step_count_;
  maps_ = progress_->with_balancer(
      [](const Balancer& balancer) { return maps_of(balancer.placement()); });
  // A forward's collectives keep the ranks of an engine together.
  barrier(group_);
}

std::int64_t ServedRank::ended_rearrangements() {
  return progress_->with_balancer([](const Balancer& balancer) {
    return static_cast<std::int64_t>(balancer.rearrangements().size());
  });
}

void ServedRank::serve(std::int64_t rearrangement_count) {
  const std::int64_t first = ended_rearrangements();
  for (std::int64_t ended = first; ended < first + rearrangement_count;) {
    step();
    const std::int64_t now_ended = ended_rearrangements();
    if (now_ended != ended) {
      ended = now_ended;
      verify();
    }
  }
}

void ServedRank::drain() {
  progress_->with_balancer([](Balancer& balancer) { balancer.drain(); });
  for (bool all_drained = false; !all_drained;) {
    step();
    const bool drained =
        progress_->with_balancer([](const Balancer& balancer) { return balancer.drained(); });
    const std::byte mine{drained ? std::uint8_t{1} : std::uint8_t{0}};
    all_drained = true;
    for (const std::vector<std::byte>& theirs : group_.all_gather({&mine, 1})) {
      all_drained = all_drained && theirs.at(0) == std::byte{1};
    }
  }
}

void ServedRank::sleep_and_wake() {
  drain();
  progress_->with_balancer([this](Balancer& balancer) {
    require(balancer.release_memory(), "release");
    checks_.expect(rank_->memory().taken_bytes() == 0, named("holds nothing while it sleeps"));
    barrier(group_);
    require(balancer.reserve_memory(), "reserve");
    load_weights();
    barrier(group_);
    balancer.resume();
  });
  verify();
}

void ServedRank::verify() {
  // Another thread may be capturing.
  const DeviceEntry entry(group_.device);
  const Placement placement =
      progress_ == nullptr
          ? balancer_->placement()
          : progress_->with_balancer([](const Balancer& balancer) { return balancer.placement(); });
  expect_digests(placement);
  expect_maps(placement);
  barrier(group_);
}

void ServedRank::expect_digests(const Placement& placement) {
  const std::span<const LayerWeights> layers = rank_->memory().rows().layers();
  const DigestOptions rows{.row_count = shape().slots_per_rank()};
  for (std::int32_t layer = 0; layer < shape().layer_count; ++layer) {
    const std::span<const WeightTensor> tensors = layers[static_cast<std::size_t>(layer)].tensors();
    const std::span<const LogicalExpertId> held =
        placement.layer(LayerId{layer}).on_rank(group_.rank);
    for (std::size_t slot = 0; slot < held.size(); ++slot) {
      experts_.span()[slot] = held[slot].value;
    }
    digest_rows(tensors, rows, digests_.data(), rank_->forward());
    digest_expected(tensors, LayerId{layer}, experts_.data(), rows, expected_digests_.data(),
                    rank_->forward());
    digests_.fetch(rank_->forward());
    expected_digests_.fetch(rank_->forward());
    EPLB_CUDA(cudaStreamSynchronize(rank_->forward()));
    checks_.expect_equal<std::uint64_t>(digests_.fetched(), expected_digests_.fetched(),
                                        named("content of layer " + std::to_string(layer) +
                                              " in step " + std::to_string(step_count_)));
    verified_rows_ += rows.row_count;
  }
}

void ServedRank::expect_maps(const Placement& placement) {
  for (std::int32_t layer = 0; layer < shape().layer_count; ++layer) {
    const LayerMapView view = rank_->mapping(LayerId{layer}).map;
    std::vector<MapEntry> entries(map_entries(view.expert_count, view.tail_width));
    EPLB_CUDA(cudaMemcpyAsync(entries.data(), view.heads, entries.size() * sizeof(MapEntry),
                              cudaMemcpyDeviceToHost, rank_->forward()));
    EPLB_CUDA(cudaStreamSynchronize(rank_->forward()));
    const LayerMap map = LayerMap::from(placement.layer(LayerId{layer}));
    std::vector<std::int32_t> actual;
    std::vector<std::int32_t> expected;
    for (std::int32_t expert = 0; expert < view.expert_count; ++expert) {
      const auto head = static_cast<std::size_t>(expert) * kHeadEntries;
      const std::span<const std::int32_t> slots = map.slots(LogicalExpertId{expert});
      expected.push_back(static_cast<std::int32_t>(slots.size()));
      expected.insert(expected.end(), slots.begin(), slots.end());
      actual.push_back(entries[head + kHeadSlotsBegin - 1]);
      for (std::size_t replica = 0; replica < slots.size(); ++replica) {
        actual.push_back(entries[head + kHeadSlotsBegin + replica]);
      }
    }
    checks_.expect_equal<std::int32_t>(
        actual, expected,
        named("map of layer " + std::to_string(layer) + " in step " + std::to_string(step_count_)));
  }
}

void ServedRank::judge() {
  drain();
  verify();
  const std::int64_t longest_progress_ns = progress_->longest_progress_ns();
  const std::int64_t longest_wait_ns = progress_->longest_wait_ns();
  progress_.reset();
  checks_.expect(recorder_->difference().empty(), named(recorder_->difference()));
  checks_.expect(recorder_->taken_count() > 0, named("passes were taken"));
  checks_.expect(recorder_->left_count() == 0, named("all passes were taken"));
  checks_.expect(recorder_->flip_count() > 1, named("the gate opened and shut"));
  std::int64_t moved = 0;
  std::int64_t committed = 0;
  for (const Rearrangement& rearrangement : balancer_->rearrangements()) {
    checks_.expect(!rearrangement.abort || rearrangement.abort.cause == FailureCause::kDrained,
                   named("aborted: " + describe(rearrangement.abort)));
    moved += rearrangement.moved_experts;
    committed += rearrangement.committed_layers;
  }
  checks_.expect(moved > 0, named("experts have moved"));
  std::int64_t epochs = 0;
  for (std::int32_t layer = 0; layer < shape().layer_count; ++layer) {
    epochs += balancer_->epoch(LayerId{layer});
  }
  checks_.expect(epochs == committed, named("an epoch a commit"));
  checks_.expect(watched_call_count() == 0,
                 named("the step path has called " + first_watched_call()));
  if (group_.rank.value == 0) {
    std::printf(
        "  %lld steps, %zu rearrangements, %lld experts moved, %lld rows verified on rank "
        "0, %lld passes (%lld of dummy steps), %lld waits for room; longest progress %.1f "
        "us, longest wait of a step %.1f us\n",
        static_cast<long long>(step_count_), balancer_->rearrangements().size(),
        static_cast<long long>(moved), static_cast<long long>(verified_rows_),
        static_cast<long long>(recorder_->taken_count()),
        static_cast<long long>(recorder_->dummy_count()),
        static_cast<long long>(rank_->load_recorder().wait_count()),
        static_cast<double>(longest_progress_ns) * 1e-3,
        static_cast<double>(longest_wait_ns) * 1e-3);
  }
}

std::string ServedRank::named(const std::string& what) const {
  return "rank " + std::to_string(group_.rank.value) + ": " + what;
}

}  // namespace eplb::gpu::test
