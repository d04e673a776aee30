// Goal: what a rank's world is made of keeps its promises one by one: counts come in order whether
// the device is ahead or behind, maps take their place without a wait, refusals are clear. Method:
// drawn passes and maps on one stream, which a gate holds while the host goes on; a thread that
// opens the gate where a wait is meant to end.
#include <cuda_runtime_api.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "checked_recorder.hpp"
#include "drawn_forward.hpp"
#include "environment_cases.hpp"
#include "eplb/gpu/environment/device_load_recorder.hpp"
#include "eplb/gpu/environment/device_map_publisher.hpp"
#include "eplb/gpu/environment/gpu_rank.hpp"
#include "eplb/gpu/stream.hpp"
#include "eplb/gpu/timing.hpp"
#include "eplb/group/membership.hpp"
#include "shuffling_policy.hpp"
#include "watched_calls.hpp"
#include "workload.hpp"

namespace eplb::gpu::test {
namespace {

constexpr Shape kShape{
    .layer_count = 3, .expert_count = 40, .redundant_slot_count = 8, .rank_count = 4};

/// Opens a gate beside a thread that is meant to wait for it: when it is time, or within a second,
/// which is before the gate gives up.
class OpensLater {
 public:
  OpensLater(Gate& gate, std::function<bool()> is_time)
      : thread_([&gate, is_time = std::move(is_time)] {
          const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(1);
          while (!is_time() && std::chrono::steady_clock::now() < latest) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          }
          gate.open();
        }) {}

  ~OpensLater() { thread_.join(); }

  OpensLater(const OpensLater&) = delete;
  OpensLater& operator=(const OpensLater&) = delete;
  OpensLater(OpensLater&&) = delete;
  OpensLater& operator=(OpensLater&&) = delete;

 private:
  std::thread thread_;
};

/// Forwards on a stream that a recorder counts, each pass compared as it is taken.
class CountedForwards {
 public:
  explicit CountedForwards(Draw& draw)
      : publisher_({.maps = {.shape = kShape}}, stream_.get()),
        recorder_({.shape = kShape, .counts_slots = true}, stream_.get()),
        checked_(recorder_),
        forward_(kShape, draw, stream_.get()),
        maps_(maps_of(Placement::initial(kShape))) {
    for (std::int32_t layer = 0; layer < kShape.layer_count; ++layer) {
      publisher_.publish(LayerId{layer}, maps_[static_cast<std::size_t>(layer)], 0);
    }
    publisher_.flush();
    checked_.set_recording(true);
    // What runs behind a gate must have run once before.
    gate_.close(stream_.get());
    gate_.open();
    run(0, {.record = true, .log = true});
    settle();
  }

  void run(std::int32_t kind, env::PassUse use) {
    const auto mapping_of = [this](LayerId layer) {
      const PassRecorder& passes = recorder_.passes();
      return LayerMapping{.map = publisher_.view(layer),
                          .layer = static_cast<std::uint32_t>(layer.value),
                          .record_gate = passes.record_gate(),
                          .logical_counts = passes.logical_counts(layer),
                          .stripe_count = PassRecorder::kStripes,
                          .stripe_stride = passes.stripe_stride(),
                          .slot_counts = passes.slot_counts(layer),
                          .slot_count = kShape.slot_count()};
    };
    forward_.launch(kind, mapping_of, stream_.get());
    checked_.expect(forward_.counts(kind, mapping_of, maps_));
    checked_.close_pass(step_++, use);
  }

  /// How many passes can be taken now.
  std::int64_t take_all() {
    const std::int64_t before = checked_.taken_count();
    while (checked_.try_take() != nullptr) {
    }
    return checked_.taken_count() - before;
  }

  [[nodiscard]] CheckedRecorder& checked() { return checked_; }

  [[nodiscard]] DeviceLoadRecorder& recorder() { return recorder_; }

  [[nodiscard]] const Stream& stream() const { return stream_; }

  [[nodiscard]] Gate& gate() { return gate_; }

  /// Until all that was enqueued has landed at the host.
  void settle() const { EPLB_CUDA(cudaDeviceSynchronize()); }

 private:
  Stream stream_;
  Gate gate_;
  DeviceMapPublisher publisher_;
  DeviceLoadRecorder recorder_;
  CheckedRecorder checked_;
  DrawnForward forward_;
  std::vector<LayerMap> maps_;
  std::int64_t step_ = 0;
};

void run_drawn_passes(Checks& checks, CountedForwards& forwards, Draw& draw) {
  constexpr int kSteps = 200;
  for (int step = 0; step < kSteps; ++step) {
    if (draw.chance(0.1)) {
      forwards.checked().set_recording(draw.chance(0.7));
    }
    const bool is_dummy = draw.chance(0.2);
    forwards.run(
        draw.below(DrawnForward::kKinds),
        {.record = !is_dummy && draw.chance(0.6), .log = draw.chance(0.4), .dummy = is_dummy});
    if (draw.chance(0.5)) {
      forwards.take_all();
    }
  }
  forwards.settle();
  forwards.take_all();
  forwards.checked().set_recording(true);
  checks.expect(forwards.checked().dummy_count() > 0, "dummy passes were taken");
}

/// Four read-backs under way, a dummy pass among them: nothing has landed, nobody waits.
void run_ahead_of_the_device(Checks& checks, CountedForwards& forwards) {
  constexpr env::PassUse kBoth{.record = true, .log = true};
  const std::int64_t waits_before = forwards.recorder().wait_count();
  forwards.gate().close(forwards.stream().get());
  {
    const OnStepPath on_step_path;
    forwards.run(1, kBoth);
    forwards.run(2, {.record = true});
    forwards.run(3, {.log = true, .dummy = true});
    forwards.run(4, {});
    forwards.run(5, {.log = true});
    forwards.run(6, {.record = true});
  }
  checks.expect(forwards.take_all() == 0, "nothing lands while the device is held");
  checks.expect(forwards.recorder().wait_count() == waits_before,
                "four passes under way make nobody wait");
  {
    const DeviceLoadRecorder& recorder = forwards.recorder();
    const OpensLater later(forwards.gate(), [&] { return recorder.wait_count() > waits_before; });
    forwards.run(7, kBoth);
  }
  checks.expect(forwards.recorder().wait_count() == waits_before + 1, "the fifth has to wait");
  forwards.settle();
  checks.expect(!forwards.gate().gave_up(), "nothing waited for the gate but the fifth pass");
  checks.expect(forwards.take_all() == 6, "all used passes come, in order");
}

/// Passes that land while nobody takes them are put aside.
void leave_passes_lying(Checks& checks, CountedForwards& forwards) {
  const std::int64_t waits_before = forwards.recorder().wait_count();
  constexpr std::int32_t kLeft = 7;
  for (std::int32_t pass = 0; pass < kLeft; ++pass) {
    forwards.run(pass, {.record = true, .log = pass % 2 == 0});
    forwards.settle();
  }
  checks.expect(forwards.recorder().wait_count() == waits_before,
                "passes that have landed make nobody wait");
  checks.expect(forwards.take_all() == kLeft, "what was put aside comes first, and all of it");
}

/// Publishes drawn maps for all layers and flushes.
void publish_drawn(DeviceMapPublisher& publisher, std::vector<LayerMap>& maps, Draw& draw) {
  Shape layer_shape = kShape;
  layer_shape.layer_count = 1;
  for (std::int32_t layer = 0; layer < kShape.layer_count; ++layer) {
    maps[static_cast<std::size_t>(layer)] = draw_map(layer_shape, draw);
    publisher.publish(LayerId{layer}, maps[static_cast<std::size_t>(layer)], 0);
  }
  publisher.flush();
}

/// Counts and first slots, as the heads say.
void expect_heads(Checks& checks, const DeviceMapPublisher& publisher,
                  const std::vector<LayerMap>& maps, const Stream& stream) {
  for (std::int32_t layer = 0; layer < kShape.layer_count; ++layer) {
    const LayerMapView view = publisher.view(LayerId{layer});
    std::vector<MapEntry> heads(map_entries(view.expert_count, 0));
    EPLB_CUDA(cudaMemcpyAsync(heads.data(), view.heads, heads.size() * sizeof(MapEntry),
                              cudaMemcpyDeviceToHost, stream.get()));
    stream.synchronize();
    std::vector<std::int32_t> actual;
    std::vector<std::int32_t> expected;
    for (std::int32_t expert = 0; expert < view.expert_count; ++expert) {
      const auto head = static_cast<std::size_t>(expert) * kHeadEntries;
      const LogicalExpertId id{expert};
      const LayerMap& map = maps[static_cast<std::size_t>(layer)];
      actual.push_back(heads[head + kHeadSlotsBegin - 1]);
      actual.push_back(heads[head + kHeadSlotsBegin]);
      expected.push_back(map.replica_count(id));
      expected.push_back(map.slots(id).front());
    }
    checks.expect_equal<std::int32_t>(actual, expected, "layer " + std::to_string(layer));
  }
}

}  // namespace

void test_watch(Checks& checks, const RankSetting& /*setting*/) {
  const auto allocate = [] {
    const DeviceBuffer<std::int32_t> buffer(4);
    const Stream stream;
    stream.synchronize();
  };
  allocate();
  checks.expect(watched_call_count() == 0, "calls off the step path are not counted");
  {
    const OnStepPath on_step_path;
    allocate();
    std::thread(allocate).join();
  }
  checks.expect(watched_call_count() == 3, "a reservation, its return and a wait are counted");
  checks.expect(first_watched_call() == "cudaMalloc", "the first is named");
}

void test_load_recorder(Checks& checks, const RankSetting& setting) {
  Draw draw(20261130 + setting.group.rank.index());
  CountedForwards forwards(draw);
  checks.expect(forwards.take_all() == 1, "the first pass has landed");
  run_drawn_passes(checks, forwards, draw);
  run_ahead_of_the_device(checks, forwards);
  leave_passes_lying(checks, forwards);
  checks.expect(forwards.checked().difference().empty(), forwards.checked().difference());
  checks.expect(forwards.checked().left_count() == 0, "no pass is left");
  checks.expect(watched_call_count() == 0, "the step path has called " + first_watched_call());
}

void test_map_publisher(Checks& checks, const RankSetting& setting) {
  Draw draw(20261130 + setting.group.rank.index());
  const Stream stream;
  DeviceMapPublisher publisher({.maps = {.shape = kShape}}, stream.get());
  std::vector<LayerMap> maps = maps_of(Placement::initial(kShape));
  Gate gate;
  gate.close(stream.get());
  gate.open();
  publish_drawn(publisher, maps, draw);
  expect_heads(checks, publisher, maps, stream);

  gate.close(stream.get());
  {
    const OnStepPath on_step_path;
    for (std::size_t update = 0; update < DeviceMaps::kUpdatesMax; ++update) {
      publish_drawn(publisher, maps, draw);
    }
    publisher.flush();  // Of nothing.
  }
  {
    const auto since = std::chrono::steady_clock::now();
    const OpensLater later(gate, [since] {
      return std::chrono::steady_clock::now() - since > std::chrono::milliseconds(50);
    });
    publish_drawn(publisher, maps, draw);
  }
  expect_heads(checks, publisher, maps, stream);
  checks.expect(!gate.gave_up(), "four updates wait for nothing, the fifth for the first");

  // Of two maps of a layer between two forwards the newer one counts.
  const LayerMap older = maps[1];
  publish_drawn(publisher, maps, draw);
  publisher.publish(LayerId{1}, older, 0);
  publisher.publish(LayerId{1}, maps[2], 0);
  maps[1] = maps[2];
  publisher.flush();
  expect_heads(checks, publisher, maps, stream);
  checks.expect(watched_call_count() == 0, "the step path has called " + first_watched_call());
}

void test_refusals(Checks& checks, const RankSetting& setting) {
  const std::unique_ptr<group::Membership> membership =
      group::Membership::alone(1, group::SumSizes::of(kShape, 1)).value();
  const std::unique_ptr<group::BoardControlPlane> control_plane =
      membership->control_plane(RankId{0});
  const ShufflingPolicy policy;
  const auto expect_refused = [&](const GpuRankOptions& options, ErrorCode code,
                                  const std::string& words) {
    const Result<std::unique_ptr<GpuRank>> rank =
        GpuRank::create(options, {.group = setting.group,
                                  .control_plane = *control_plane,
                                  .policy = policy,
                                  .weights = OwnWeights{}});
    checks.expect(!rank.has_value(), words + " is refused");
    if (!rank) {
      checks.expect(rank.error().code == code, words + ": another code");
      checks.expect(rank.error().message.find(words) != std::string::npos,
                    "no \"" + words + "\" in \"" + rank.error().message + "\"");
    }
  };
  const GpuRankOptions good{.shape = kShape};
  GpuRankOptions options = good;
  options.communicator = Communicator::kNixl;
  expect_refused(options, ErrorCode::kUnsupported, "nixl is not built in here; use symm_mem");
  options.communicator = Communicator::kAuto;
  expect_refused(options, ErrorCode::kInvalidConfig, "auto has to be resolved first");
  options.communicator = Communicator::kPynccl;
  expect_refused(options, ErrorCode::kInvalidConfig, "set eplb.use_async to false");
  options = good;
  options.is_elastic = true;
  expect_refused(options, ErrorCode::kInvalidConfig, "parallel.scale");
  options = good;
  options.eplb.copy_streams = 3;
  expect_refused(options, ErrorCode::kInvalidConfig, "must be 1 or 2");
  options = good;
  options.shape.rank_count = 5;
  expect_refused(options, ErrorCode::kInvalidArgument, "");
}

}  // namespace eplb::gpu::test
