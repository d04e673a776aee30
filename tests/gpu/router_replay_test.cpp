// Goal: the router, staging and map_and_record give the same slots and the same counts for the same
// picks, alone and in one graph that serves while logits, bias, gate, padding and map change
// between replays at their fixed addresses. Method: the router's logical ids feed the other two,
// each with counts of its own; 40 rounds with everything drawn anew, the first of them launched
// without a graph; all three compared with the references.
#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include "eplb/gpu/buffer.hpp"
#include "eplb/gpu/device_maps.hpp"
#include "eplb/gpu/graph.hpp"
#include "eplb/gpu/map_and_record.hpp"
#include "eplb/gpu/router.hpp"
#include "eplb/gpu/staging.hpp"
#include "eplb/gpu/stream.hpp"
#include "framed.hpp"
#include "kernel_cases.hpp"
#include "router_case.hpp"
#include "staging_case.hpp"
#include "workload.hpp"

namespace eplb::gpu::test {
namespace {

constexpr std::int32_t kExperts = 256;
constexpr std::int32_t kSlots = 288;
constexpr std::int32_t kRows = 135;
constexpr std::int32_t kTopK = 8;
constexpr std::int32_t kHiddenSize = 256;
constexpr std::size_t kPicks = static_cast<std::size_t>(kRows) * kTopK;
constexpr std::size_t kElements = static_cast<std::size_t>(kRows) * kHiddenSize;
constexpr RouterRule kRule{.expert_count = kExperts,
                           .top_k = kTopK,
                           .scoring = RouterScoring::kSigmoid,
                           .group_count = 8,
                           .top_group_count = 4,
                           .weight_factor = 2.5F};

/// What one kernel adds to.
struct Counts {
  DeviceBuffer<std::int32_t> experts{kExperts};
  DeviceBuffer<std::int32_t> slots{kSlots};

  void clear(cudaStream_t stream) const {
    experts.fill_bytes(0, stream);
    slots.fill_bytes(0, stream);
  }
};

/// What stays at its address for the life of the graph.
template <typename Logit, typename Id>
struct Fixed {
  Stream stream;
  DeviceMaps maps{{.shape = shape_of(kExperts, kSlots)}, stream.get()};
  DeviceBuffer<Logit> logits{static_cast<std::size_t>(kRows) * kExperts};
  DeviceBuffer<float> choice_bias{kExperts};
  DeviceBuffer<std::uint8_t> is_padding{kRows};
  DeviceBuffer<std::int32_t> record_gate{1};
  DeviceBuffer<std::int32_t> unpadded_row_count{1};
  DeviceBuffer<std::uint16_t> activations{kElements};
  DeviceBuffer<std::uint16_t> staged{kElements};

  DeviceBuffer<Id> logical_ids{kPicks};
  DeviceBuffer<Id> routed_slots{kPicks};
  DeviceBuffer<float> weights{kPicks};
  DeviceBuffer<std::int64_t> staged_slots{kPicks};
  DeviceBuffer<float> staged_weights{kPicks};
  DeviceBuffer<Id> mapped_slots{kPicks};
  Counts routed;
  Counts staged_counts;
  Counts mapped;

  [[nodiscard]] LayerMapping mapping(const Counts& counts) const {
    return {.map = maps.view(LayerId{0}),
            .rank = 3,
            .layer = 11,
            .record_gate = record_gate.data(),
            .unpadded_row_count = unpadded_row_count.data(),
            .logical_counts = counts.experts.data(),
            .slot_counts = counts.slots.data(),
            .slot_count = kSlots};
  }

  void enqueue(cudaStream_t captured) const {
    RouterArguments<Logit, Id> router;
    router.rule = kRule;
    router.logits = logits.data();
    router.choice_bias = choice_bias.data();
    router.row_count = kRows;
    router.slot_ids = routed_slots.data();
    router.weights = weights.data();
    router.logical_ids = logical_ids.data();
    router.mapping = mapping(routed);
    router.is_padding = is_padding.data();
    route<Logit, Id>(router, captured);

    StagingArguments<Id> staging;
    staging.activations = activations.data();
    staging.row_count = kRows;
    staging.hidden_size = kHiddenSize;
    staging.staged = staged.data();
    staging.logical_ids = logical_ids.data();
    staging.router_weights = weights.data();
    staging.top_k = kTopK;
    staging.slot_ids = staged_slots.data();
    staging.staged_weights = staged_weights.data();
    staging.mapping = mapping(staged_counts);
    staging.is_padding = is_padding.data();
    stage<Id>(staging, captured);

    map_and_record<Id>({.logical_ids = logical_ids.data(),
                        .slot_ids = mapped_slots.data(),
                        .row_count = kRows,
                        .top_k = kTopK,
                        .mapping = mapping(mapped),
                        .is_padding = is_padding.data()},
                       captured);
  }
};

/// What the next round finds at the fixed addresses, with the picks that come of it.
struct Round {
  RouterCase router;
  RoutingCase routing;
};

Round drawn_round(const LayerMap& map, bool is_bf16, Draw& draw) {
  const LogitFilling filling = kLogitFillings.at(static_cast<std::size_t>(draw.below(5)));
  Round round{.router = drawn_router_case(kRule, kRows, filling, is_bf16, draw), .routing = {}};
  round.router.choice_bias.resize(kExperts, 0.0F);  // The graph holds a pointer.
  const PickOptions pick{.row_count = kRows, .top_k = kTopK, .expert_count = kExperts};
  round.routing = drawn_routing(pick, map, kSlots, draw);
  round.routing.maps = true;
  round.routing.counts_slots = true;
  round.routing.filled_row_count = 0;
  round.routing.weight_factor = 1.0F;
  MapCase& map_case = round.routing.map_case;
  map_case.choice = ReplicaChoice::kSalted;
  map_case.rank = 3;
  map_case.layer = 11;
  map_case.unpadded_row_count = draw.below(kRows + 1);
  map_case.is_padding.resize(kRows, 0);
  const RouterPicks picks = router_reference(round.router);
  map_case.logical_ids = picks.logical_ids;
  round.routing.weights = picks.weights;
  return round;
}

template <typename Logit, typename Id>
void put(const Fixed<Logit, Id>& fixed, const Round& round) {
  cudaStream_t stream = fixed.stream.get();
  const MapCase& map_case = round.routing.map_case;
  fixed.logits.upload(as_logits<Logit>(round.router.logits), stream);
  fixed.choice_bias.upload(round.router.choice_bias, stream);
  fixed.is_padding.upload(map_case.is_padding, stream);
  fixed.record_gate.upload(std::vector<std::int32_t>{map_case.is_recording ? 1 : 0}, stream);
  fixed.unpadded_row_count.upload(
      std::vector<std::int32_t>{map_case.unpadded_row_count.value_or(0)}, stream);
  fixed.logical_ids.fill_bytes(kPoison, stream);
  fixed.routed_slots.fill_bytes(kPoison, stream);
  fixed.weights.fill_bytes(kPoison, stream);
  fixed.staged_slots.fill_bytes(kPoison, stream);
  fixed.staged_weights.fill_bytes(kPoison, stream);
  fixed.mapped_slots.fill_bytes(kPoison, stream);
}

void add(std::vector<std::int32_t>& sums, const std::vector<std::int32_t>& more) {
  std::ranges::transform(sums, more, sums.begin(),
                         [](std::int32_t left, std::int32_t right) { return left + right; });
}

template <typename Id>
std::vector<std::int64_t> widened(const std::vector<Id>& ids) {
  return {ids.begin(), ids.end()};
}

/// Counts since the first round.
struct Sums {
  std::vector<std::int32_t> experts = std::vector<std::int32_t>(kExperts, 0);
  std::vector<std::int32_t> slots = std::vector<std::int32_t>(kSlots, 0);
};

template <typename Logit, typename Id>
void compare(Checks& checks, const Fixed<Logit, Id>& fixed, const RoutingOutcome& expected,
             const Sums& sums, const std::string& what) {
  cudaStream_t stream = fixed.stream.get();
  const auto expect_slots = [&](const std::vector<std::int64_t>& slots, const char* kernel) {
    checks.expect_equal<std::int64_t>(slots, expected.slot_ids, what + kernel + " slots");
  };
  expect_slots(widened(fixed.routed_slots.download(stream)), "the router's");
  expect_slots(fixed.staged_slots.download(stream), "staging's");
  expect_slots(widened(fixed.mapped_slots.download(stream)), "map_and_record's");
  checks.expect_equal<float>(fixed.weights.download(stream), expected.weights,
                             what + "the router's weights");
  checks.expect_equal<float>(fixed.staged_weights.download(stream), expected.weights,
                             what + "staging's weights");
  const auto expect_counts = [&](const Counts& counts, const char* kernel) {
    checks.expect_equal<std::int32_t>(counts.experts.download(stream), sums.experts,
                                      what + kernel + " counts");
    checks.expect_equal<std::int32_t>(counts.slots.download(stream), sums.slots,
                                      what + kernel + " slot counts");
  };
  expect_counts(fixed.routed, "the router's");
  expect_counts(fixed.staged_counts, "staging's");
  expect_counts(fixed.mapped, "map_and_record's");
}

template <typename Logit, typename Id>
void replay_all(Checks& checks, Draw& draw, const std::string& name) {
  constexpr int kRounds = 40;
  Fixed<Logit, Id> fixed;
  cudaStream_t stream = fixed.stream.get();
  fixed.activations.fill_bytes(0, stream);
  for (const Counts* counts : {&fixed.routed, &fixed.staged_counts, &fixed.mapped}) {
    counts->clear(stream);
  }
  const GraphExec replay(Graph::capture([&](cudaStream_t captured) { fixed.enqueue(captured); }));
  Sums sums;
  for (int index = 0; index < kRounds; ++index) {
    const LayerMap map = draw_map(shape_of(kExperts, kSlots), draw);
    const LayerMapUpdate update{.layer = LayerId{0}, .map = &map};
    fixed.maps.update({&update, 1});
    const Round round = drawn_round(map, std::is_same_v<Logit, std::uint16_t>, draw);
    put(fixed, round);
    if (index == 0) {
      fixed.enqueue(stream);
    } else {
      replay.launch(stream);
    }
    const RoutingOutcome expected = expected_routing(round.routing);
    add(sums.experts, expected.logical_counts);
    add(sums.slots, expected.slot_counts);
    compare(checks, fixed, expected, sums, name + " round " + std::to_string(index) + ": ");
  }
}

}  // namespace

void test_router_replay(Checks& checks, const Setting& setting) {
  Draw draw(setting.seed);
  replay_all<float, std::int64_t>(checks, draw, "float int64");
  replay_all<std::uint16_t, std::int32_t>(checks, draw, "bf16 int32");
}

}  // namespace eplb::gpu::test
