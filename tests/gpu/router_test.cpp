// Goal: the router gives the experts, weights, slots and counts of the references, bit for bit.
// Method: every size with every scoring and every kind of logits, ties and NaN among them; groups,
// bias, types, gates, masks and alignment drawn anew each time, by turns with and without a map.
// Outputs are poisoned to past their ends, where the poison must stay; the reference sorts all
// experts of a row.
#include "eplb/gpu/router.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "eplb/gpu/buffer.hpp"
#include "eplb/gpu/stream.hpp"
#include "framed.hpp"
#include "kernel_cases.hpp"
#include "mapped_layer.hpp"
#include "router_case.hpp"
#include "staging_case.hpp"
#include "stripes.hpp"

namespace eplb::gpu::test {
namespace {

constexpr std::array kRowCounts{0, 1, 7, 63, 64, 65, 127, 128, 135, 434, 16384};
constexpr std::array kTopKs{1, 6, 8, 16};
constexpr std::int32_t kLargeRowCount = 1000;  ///< From here on the host is slow.
constexpr std::size_t kRowsMax = 16384 + 70;
constexpr std::size_t kLogitsMax = kRowsMax * 896;
constexpr std::size_t kPicksMax = kRowsMax * kTopKMax;

struct Arena {
  Stream stream;
  DeviceBuffer<float> logits{kLogitsMax};
  DeviceBuffer<float> choice_bias{kExpertsMax};
  DeviceBuffer<std::int32_t> narrow_slots{kPicksMax + kGuard};
  DeviceBuffer<std::int64_t> wide_slots{kPicksMax + kGuard};
  DeviceBuffer<std::int32_t> narrow_ids{kPicksMax + kGuard};
  DeviceBuffer<std::int64_t> wide_ids{kPicksMax + kGuard};
  DeviceBuffer<float> weights{kPicksMax + kGuard};
  DeviceBuffer<std::int32_t> logical_counts{std::size_t{kExpertsMax} * kStripesTried};
  DeviceBuffer<std::int32_t> slot_counts{kSlotsMax};
  DeviceBuffer<std::int32_t> record_gate{1};
  DeviceBuffer<std::int32_t> unpadded_row_count{1};
  DeviceBuffer<std::uint8_t> is_padding{kRowsMax};
};

template <typename Id>
const DeviceBuffer<Id>& slots_of(const Arena& arena) {
  if constexpr (std::is_same_v<Id, std::int32_t>) {
    return arena.narrow_slots;
  } else {
    return arena.wide_slots;
  }
}

template <typename Id>
const DeviceBuffer<Id>& ids_of(const Arena& arena) {
  if constexpr (std::is_same_v<Id, std::int32_t>) {
    return arena.narrow_ids;
  } else {
    return arena.wide_ids;
  }
}

template <typename Id>
std::vector<Id> as_ids(const std::vector<std::int64_t>& values) {
  std::vector<Id> ids(values.size());
  std::ranges::transform(values, ids.begin(), [](std::int64_t id) { return static_cast<Id>(id); });
  return ids;
}

/// A router, and how its picks are mapped, masked and counted.
struct Case {
  RouterCase router;
  RoutingCase routing;
  bool captures = true;          ///< Whether logical ids are asked for.
  std::size_t logit_offset = 0;  ///< In logits: 1 breaks the alignment of fours.
};

Case drawn_case(const RouterRule& rule, std::int32_t row_count, LogitFilling filling, bool is_bf16,
                const MappedLayer& layer, Draw& draw) {
  Case one{.router = drawn_router_case(rule, row_count, filling, is_bf16, draw), .routing = {}};
  const PickOptions pick{
      .row_count = row_count, .top_k = rule.top_k, .expert_count = rule.expert_count};
  one.routing = drawn_routing(pick, layer.map, layer.sizes.slot_count, draw);
  one.routing.weight_factor = 1.0F;  // The rule's own is in the picks.
  const RouterPicks picks = router_reference(one.router);
  one.routing.map_case.logical_ids = picks.logical_ids;
  one.routing.weights = picks.weights;
  one.captures = draw.chance(0.5);
  one.logit_offset = draw.chance(0.2) ? 1 : 0;
  return one;
}

/// The routing's logical ids, -1 where nothing is routed.
std::vector<std::int64_t> expected_ids(RoutingCase routing) {
  routing.maps = false;
  return expected_routing(routing).slot_ids;
}

template <typename Logit, typename Id>
RouterArguments<Logit, Id> put(const Arena& arena, const Case& one, const MappedLayer& layer) {
  cudaStream_t stream = arena.stream.get();
  const RoutingCase& routing = one.routing;
  const MapCase& map_case = routing.map_case;
  auto* logits = reinterpret_cast<Logit*>(arena.logits.data()) + one.logit_offset;
  const std::vector<Logit> values = as_logits<Logit>(one.router.logits);
  EPLB_CUDA(cudaMemcpyAsync(logits, values.data(), values.size() * sizeof(Logit),
                            cudaMemcpyHostToDevice, stream));
  arena.choice_bias.upload(one.router.choice_bias, stream);
  arena.is_padding.upload(map_case.is_padding, stream);
  arena.record_gate.upload(std::vector<std::int32_t>{map_case.is_recording ? 3 : 0}, stream);
  arena.unpadded_row_count.upload(
      std::vector<std::int32_t>{map_case.unpadded_row_count.value_or(0)}, stream);
  slots_of<Id>(arena).fill_bytes(kPoison, stream);
  ids_of<Id>(arena).fill_bytes(kPoison, stream);
  arena.weights.fill_bytes(kPoison, stream);
  arena.logical_counts.fill_bytes(0, stream);
  arena.slot_counts.fill_bytes(0, stream);

  RouterArguments<Logit, Id> arguments;
  arguments.rule = one.router.rule;
  arguments.logits = logits;
  arguments.choice_bias = one.router.choice_bias.empty() ? nullptr : arena.choice_bias.data();
  arguments.row_count = routing.row_count;
  arguments.filled_row_count = routing.filled_row_count;
  arguments.slot_ids = slots_of<Id>(arena).data();
  arguments.weights = arena.weights.data();
  arguments.logical_ids = one.captures ? ids_of<Id>(arena).data() : nullptr;
  arguments.is_padding = map_case.is_padding.empty() ? nullptr : arena.is_padding.data();
  arguments.mapping = {
      .map = routing.maps ? layer.device_maps.view(LayerId{0}) : LayerMapView{},
      .choice = map_case.choice,
      .rank = map_case.rank,
      .layer = map_case.layer,
      .record_gate = arena.record_gate.data(),
      .unpadded_row_count = map_case.unpadded_row_count ? arena.unpadded_row_count.data() : nullptr,
      .logical_counts = arena.logical_counts.data(),
      .stripe_count = kStripesTried,
      .stripe_stride = kExpertsMax,
      .slot_counts = routing.counts_slots ? arena.slot_counts.data() : nullptr,
      .slot_count = layer.sizes.slot_count};
  return arguments;
}

template <typename Logit, typename Id>
void compare(Checks& checks, const Arena& arena, const Case& one, const MappedLayer& layer,
             const std::string& what) {
  cudaStream_t stream = arena.stream.get();
  route<Logit, Id>(put<Logit, Id>(arena, one, layer), stream);
  RoutingOutcome expected = expected_routing(one.routing);
  expected.logical_counts.resize(kExpertsMax, 0);
  expected.slot_counts.resize(kSlotsMax, 0);
  const std::vector<Id> logical_ids =
      one.captures ? as_ids<Id>(expected_ids(one.routing)) : std::vector<Id>{};
  expect_framed(checks, ids_of<Id>(arena), logical_ids, what + " experts", stream);
  expect_framed(checks, arena.weights, expected.weights, what + " weights", stream);
  expect_framed(checks, slots_of<Id>(arena), as_ids<Id>(expected.slot_ids), what + " slots",
                stream);
  checks.expect_equal<std::int32_t>(folded(arena.logical_counts.download(stream), kExpertsMax),
                                    expected.logical_counts, what + " counts");
  checks.expect_equal<std::int32_t>(arena.slot_counts.download(stream), expected.slot_counts,
                                    what + " slot counts");
}

void compare_drawn(Checks& checks, const Arena& arena, const RouterRule& rule,
                   std::int32_t row_count, LogitFilling filling, const MappedLayer& layer,
                   Draw& draw) {
  const bool is_bf16 = draw.chance(0.5);
  const bool is_wide = draw.chance(0.5);
  const Case one = drawn_case(rule, row_count, filling, is_bf16, layer, draw);
  const std::string what = description_of(one.router) + ", filling " +
                           std::to_string(static_cast<int>(filling)) +
                           (is_bf16 ? ", bf16" : ", float") + (is_wide ? ", int64" : ", int32") +
                           (one.routing.maps ? "," : ", copied,");
  if (is_bf16) {
    is_wide ? compare<std::uint16_t, std::int64_t>(checks, arena, one, layer, what)
            : compare<std::uint16_t, std::int32_t>(checks, arena, one, layer, what);
  } else {
    is_wide ? compare<float, std::int64_t>(checks, arena, one, layer, what)
            : compare<float, std::int32_t>(checks, arena, one, layer, what);
  }
}

/// All scorings and fillings, or one of each where the host is slow.
void compare_sizes(Checks& checks, const Arena& arena, const RouterSizes& sizes,
                   const MappedLayer& layer, Draw& draw) {
  if (sizes.row_count >= kLargeRowCount) {
    const RouterScoring scoring = kScorings.at(static_cast<std::size_t>(draw.below(3)));
    const LogitFilling filling = kLogitFillings.at(static_cast<std::size_t>(draw.below(5)));
    compare_drawn(checks, arena, drawn_rule(sizes, scoring, draw), sizes.row_count, filling, layer,
                  draw);
    return;
  }
  for (const RouterScoring scoring : kScorings) {
    for (const LogitFilling filling : kLogitFillings) {
      compare_drawn(checks, arena, drawn_rule(sizes, scoring, draw), sizes.row_count, filling,
                    layer, draw);
    }
  }
}

/// Sizes that no model has: groups that are no multiple of four, lanes without an expert, and the
/// most that a lane can hold.
void compare_odd_sizes(Checks& checks, const Arena& arena, Draw& draw) {
  struct OddSizes {
    LayerSizes layer;
    std::int32_t group_count;
  };

  constexpr std::array kOddSizes{
      OddSizes{.layer = {.expert_count = 1, .slot_count = 8}, .group_count = 1},
      OddSizes{.layer = {.expert_count = 37, .slot_count = 40}, .group_count = 1},
      OddSizes{.layer = {.expert_count = 72, .slot_count = 80}, .group_count = 8},
      OddSizes{.layer = {.expert_count = 160, .slot_count = 168}, .group_count = 8},
      OddSizes{.layer = {.expert_count = 1000, .slot_count = 1008}, .group_count = 8},
      OddSizes{.layer = {.expert_count = 992, .slot_count = 992}, .group_count = 32},
      OddSizes{.layer = {.expert_count = 512, .slot_count = 520}, .group_count = 1}};
  for (const OddSizes& odd : kOddSizes) {
    const MappedLayer layer(odd.layer, arena.stream.get(), draw);
    for (const RouterScoring scoring : kScorings) {
      RouterRule rule{.expert_count = odd.layer.expert_count,
                      .top_k = std::min(6, odd.layer.expert_count),
                      .scoring = scoring,
                      .group_count = odd.group_count,
                      .top_group_count = std::max(1, odd.group_count / 2)};
      for (const LogitFilling filling : kLogitFillings) {
        compare_drawn(checks, arena, rule, 65, filling, layer, draw);
      }
    }
  }
}

/// What is not legal is refused before anything is launched.
void refuse(Checks& checks) {
  const RouterRule legal{.expert_count = 64, .top_k = 8, .group_count = 8, .top_group_count = 4};
  const auto is_refused = [](const RouterRule& rule) {
    RouterArguments<float, std::int32_t> arguments;
    arguments.rule = rule;
    try {
      route<float, std::int32_t>(arguments, nullptr);
    } catch (const std::invalid_argument&) {
      return true;
    }
    return false;
  };
  const auto expect_refused = [&](const char* what, auto&& change) {
    RouterRule rule = legal;
    change(rule);
    checks.expect(is_refused(rule), what);
  };
  checks.expect(!is_refused(legal), "a legal rule without rows is launched as nothing");
  expect_refused("no experts are refused", [](RouterRule& rule) { rule.expert_count = 0; });
  expect_refused("1025 experts are refused", [](RouterRule& rule) { rule.expert_count = 1025; });
  expect_refused("top 0 is refused", [](RouterRule& rule) { rule.top_k = 0; });
  expect_refused("top 17 is refused", [](RouterRule& rule) { rule.top_k = 17; });
  expect_refused("three groups are refused", [](RouterRule& rule) { rule.group_count = 3; });
  expect_refused("64 groups are refused", [](RouterRule& rule) { rule.group_count = 64; });
  expect_refused("no top groups are refused", [](RouterRule& rule) { rule.top_group_count = 0; });
  expect_refused("top 9 of 8 groups is refused",
                 [](RouterRule& rule) { rule.top_group_count = 9; });
  expect_refused("unequal groups are refused", [](RouterRule& rule) { rule.expert_count = 68; });
  expect_refused("top 9 of one group of 8 is refused", [](RouterRule& rule) {
    rule.top_k = 9;
    rule.top_group_count = 1;
  });
  expect_refused("two best of groups of one are refused", [](RouterRule& rule) {
    rule.expert_count = 8;
    rule.top_k = 2;
  });
}

}  // namespace

void test_router(Checks& checks, const Setting& setting) {
  Draw draw(setting.seed);
  const Arena arena;
  refuse(checks);
  compare_odd_sizes(checks, arena, draw);
  std::vector<std::unique_ptr<MappedLayer>> layers;
  layers.reserve(kLayerSizes.size());
  for (const LayerSizes sizes : kLayerSizes) {
    layers.push_back(std::make_unique<MappedLayer>(sizes, arena.stream.get(), draw));
  }
  for (const std::int32_t row_count : kRowCounts) {
    if (row_count > setting.row_count_max) {
      continue;
    }
    for (const std::int32_t top_k : kTopKs) {
      for (const auto& layer : layers) {
        const RouterSizes sizes{
            .row_count = row_count, .expert_count = layer->sizes.expert_count, .top_k = top_k};
        compare_sizes(checks, arena, sizes, *layer, draw);
      }
    }
  }
}

}  // namespace eplb::gpu::test
