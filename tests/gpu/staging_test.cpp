// Goal: staging gives the bytes, scales, slots, weights and counts of the references, bit for bit.
// Method: every size with every format, and with random activations every routing; with others, and
// for large batches, routings by turns. Ids, gates, masks and NaN weights on padding are drawn anew
// each time, by turns with and without a map. Outputs are poisoned to past their ends, where the
// poison must stay.
#include "eplb/gpu/staging.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "eplb/gpu/buffer.hpp"
#include "eplb/gpu/device_maps.hpp"
#include "eplb/gpu/stream.hpp"
#include "framed.hpp"
#include "kernel_cases.hpp"
#include "mapped_layer.hpp"
#include "reference/staging_reference.hpp"
#include "staging_case.hpp"
#include "workload.hpp"

namespace eplb::gpu::test {
namespace {

constexpr std::array kRowCounts{0, 1, 7, 63, 64, 65, 127, 128, 135, 434, 16384};
constexpr std::int32_t kLargeRowCount = 1000;  ///< From here on the host is slow.
constexpr std::array kHiddenSizes{256, 4096, 5120, 7168};
constexpr std::array kTopKs{1, 6, 8};
constexpr std::array kFormats{StagingFormat::kBf16, StagingFormat::kMxfp8, StagingFormat::kFp8,
                              StagingFormat::kNvfp4};
constexpr std::int32_t kFilledBeyondMax = 70;

/// Counters of a stripe, above any expert, and how many stripes there may be.
constexpr std::int32_t kCounters = 896;
constexpr std::int32_t kStripes = 8;
constexpr auto kCountersOfAll = std::size_t{kCounters} * kStripes;

/// Device memory for any of the cases of up to so many rows, so that none allocates its own.
struct Arena {
  explicit Arena(std::int32_t row_count_max)
      : rows(static_cast<std::size_t>(row_count_max + kFilledBeyondMax)) {}

  std::size_t rows;
  std::size_t elements = rows * 7168;
  std::size_t picks = rows * 8;
  Stream stream;
  DeviceBuffer<std::uint16_t> activations{elements};
  DeviceBuffer<std::uint8_t> staged{2 * elements + kGuard};
  DeviceBuffer<std::uint8_t> scales{elements / 16 + kGuard};
  DeviceBuffer<std::int64_t> logical_ids{picks};
  DeviceBuffer<float> router_weights{picks};
  DeviceBuffer<std::int64_t> slot_ids{picks + kGuard};
  DeviceBuffer<float> staged_weights{picks + kGuard};
  DeviceBuffer<std::int32_t> logical_counts{kCountersOfAll};
  DeviceBuffer<std::int32_t> slot_counts{2048};
  DeviceBuffer<std::int32_t> record_gate{1};
  DeviceBuffer<std::int32_t> unpadded_row_count{1};
  DeviceBuffer<std::uint8_t> is_padding{rows};
};

template <typename Id>
void put_ids(const Arena& arena, const std::vector<std::int64_t>& values) {
  std::vector<Id> ids(values.size());
  std::ranges::transform(values, ids.begin(), [](std::int64_t id) { return static_cast<Id>(id); });
  EPLB_CUDA(cudaMemcpyAsync(arena.logical_ids.data(), ids.data(), ids.size() * sizeof(Id),
                            cudaMemcpyHostToDevice, arena.stream.get()));
  arena.stream.synchronize();
}

/// Over the stripes that are used; what the others hold counts as well, so that it must be 0.
std::vector<std::int32_t> summed_counts(const Arena& arena, const LayerMapping& mapping) {
  const std::vector<std::int32_t> counts = arena.logical_counts.download(arena.stream.get());
  const std::size_t period = mapping.stripe_count > 1 ? kCounters : counts.size();
  std::vector<std::int32_t> sums(kCounters, 0);
  for (std::size_t index = 0; index < counts.size(); ++index) {
    sums[std::min(index % period, sums.size() - 1)] += counts[index];
  }
  return sums;
}

void poison(const Arena& arena) {
  cudaStream_t stream = arena.stream.get();
  arena.staged.fill_bytes(kPoison, stream);
  arena.scales.fill_bytes(kPoison, stream);
  arena.slot_ids.fill_bytes(kPoison, stream);
  arena.staged_weights.fill_bytes(kPoison, stream);
}

template <typename Id>
void compare(Checks& checks, const Arena& arena, StagingArguments<Id> arguments,
             const RoutingCase& routing, const StagedBytes& staged, const std::string& what) {
  const MapCase& map_case = routing.map_case;
  cudaStream_t stream = arena.stream.get();
  poison(arena);
  put_ids<Id>(arena, map_case.logical_ids);
  arena.router_weights.upload(routing.weights, stream);
  arena.is_padding.upload(map_case.is_padding, stream);
  arena.record_gate.upload(std::vector<std::int32_t>{map_case.is_recording ? 7 : 0}, stream);
  arena.unpadded_row_count.upload(
      std::vector<std::int32_t>{map_case.unpadded_row_count.value_or(0)}, stream);
  arena.logical_counts.fill_bytes(kPoison, stream);
  arena.slot_counts.fill_bytes(kPoison, stream);
  const std::vector<std::int32_t> zeros(2048);
  arena.logical_counts.upload(std::vector<std::int32_t>(kCountersOfAll, 0), stream);
  arena.slot_counts.upload({zeros.data(), 960}, stream);

  arguments.logical_ids = reinterpret_cast<const Id*>(arena.logical_ids.data());
  arguments.mapping.choice = map_case.choice;
  arguments.mapping.rank = map_case.rank;
  arguments.mapping.layer = map_case.layer;
  arguments.weight_factor = routing.weight_factor;
  arguments.filled_row_count = routing.filled_row_count;
  arguments.mapping.unpadded_row_count =
      map_case.unpadded_row_count ? arena.unpadded_row_count.data() : nullptr;
  arguments.is_padding = map_case.is_padding.empty() ? nullptr : arena.is_padding.data();
  arguments.mapping.slot_counts = routing.counts_slots ? arena.slot_counts.data() : nullptr;
  stage<Id>(arguments, stream);

  RoutingOutcome expected = expected_routing(routing);
  expected.logical_counts.resize(kCounters, 0);
  expected.slot_counts.resize(960, 0);
  expect_framed(checks, arena.staged, staged.staged, what + " bytes", stream);
  expect_framed(checks, arena.scales, staged.scales, what + " scales", stream);
  expect_framed(checks, arena.slot_ids, expected.slot_ids, what + " slots", stream);
  expect_framed(checks, arena.staged_weights, expected.weights, what + " weights", stream);
  checks.expect_equal<std::int32_t>(summed_counts(arena, arguments.mapping),
                                    expected.logical_counts, what + " counts");
  expect_framed(checks, arena.slot_counts, expected.slot_counts, what + " slot counts", stream);
}

template <typename Id>
void compare_drawn(Checks& checks, const Arena& arena, const MappedLayer& layer, PickOptions pick,
                   const StagingArguments<Id>& common, const StagedBytes& staged, Draw& draw) {
  pick.expert_count = layer.sizes.expert_count;
  pick.skew =
      kSkews[static_cast<std::size_t>(draw.below(static_cast<std::int32_t>(kSkews.size())))];
  RoutingCase routing = drawn_routing(pick, layer.map, layer.sizes.slot_count, draw);
  spoil_picks(routing.map_case.logical_ids, pick.expert_count, sizeof(Id) == 4, draw);
  StagingArguments<Id> arguments = common;
  arguments.top_k = pick.top_k;
  arguments.mapping.map = routing.maps ? layer.device_maps.view(LayerId{0}) : LayerMapView{};
  arguments.mapping.slot_count = layer.sizes.slot_count;
  arguments.mapping.stripe_count = 1 + draw.below(kStripes);
  const std::string what =
      std::to_string(pick.row_count) + " x " + std::to_string(common.hidden_size) + " format " +
      std::to_string(static_cast<int>(common.format)) + " top " + std::to_string(pick.top_k) +
      " of " + std::to_string(pick.expert_count) + " int" + std::to_string(8 * sizeof(Id)) +
      (routing.maps ? "" : " copied") + " stripes " +
      std::to_string(arguments.mapping.stripe_count);
  compare<Id>(checks, arena, arguments, routing, staged, what);
}

template <typename Id>
StagingArguments<Id> common_arguments(const Arena& arena) {
  StagingArguments<Id> arguments;
  arguments.activations = arena.activations.data();
  arguments.staged = arena.staged.data();
  arguments.scales = arena.scales.data();
  arguments.router_weights = arena.router_weights.data();
  arguments.slot_ids = arena.slot_ids.data();
  arguments.staged_weights = arena.staged_weights.data();
  arguments.mapping.record_gate = arena.record_gate.data();
  arguments.mapping.logical_counts = arena.logical_counts.data();
  arguments.mapping.stripe_stride = kCounters;
  return arguments;
}

/// One filling's activations in all formats, each with every routing or with the next one in turn.
class Round {
 public:
  Round(Checks& checks, const Arena& arena, Draw& draw)
      : checks_(checks), arena_(arena), draw_(draw) {
    layers_.reserve(kLayerSizes.size());
    for (const LayerSizes sizes : kLayerSizes) {
      layers_.push_back(std::make_unique<MappedLayer>(sizes, arena.stream.get(), draw));
      for (const std::int32_t top_k : kTopKs) {
        routings_.push_back({.layer = layers_.back().get(), .top_k = top_k});
      }
    }
  }

  void run(std::int32_t row_count, std::int32_t hidden_size, Filling filling, bool is_thorough) {
    const auto size = static_cast<std::size_t>(row_count) * static_cast<std::size_t>(hidden_size);
    const std::vector<std::uint16_t> activations = drawn_activations(size, filling, draw_);
    arena_.activations.upload(activations, arena_.stream.get());
    for (const StagingFormat format : kFormats) {
      const Rows rows{.format = format, .row_count = row_count, .hidden_size = hidden_size};
      const StagedBytes staged = staging_reference(format, activations);
      for (std::size_t left = is_thorough ? routings_.size() : 1; left > 0; --left) {
        compare_next(rows, staged);
      }
    }
  }

 private:
  struct Routing {
    const MappedLayer* layer;
    std::int32_t top_k;
  };

  struct Rows {
    StagingFormat format;
    std::int32_t row_count;
    std::int32_t hidden_size;
  };

  void compare_next(const Rows& rows, const StagedBytes& staged) {
    const Routing& routing = routings_[next_];
    next_ = (next_ + 1) % routings_.size();
    if (draw_.chance(0.5)) {
      compare_as<std::int32_t>(rows, routing, staged);
    } else {
      compare_as<std::int64_t>(rows, routing, staged);
    }
  }

  template <typename Id>
  void compare_as(const Rows& rows, const Routing& routing, const StagedBytes& staged) {
    auto arguments = common_arguments<Id>(arena_);
    arguments.format = rows.format;
    arguments.row_count = rows.row_count;
    arguments.hidden_size = rows.hidden_size;
    const PickOptions pick{.row_count = rows.row_count, .top_k = routing.top_k};
    compare_drawn(checks_, arena_, *routing.layer, pick, arguments, staged, draw_);
  }

  Checks& checks_;
  const Arena& arena_;
  Draw& draw_;
  std::vector<std::unique_ptr<MappedLayer>> layers_;
  std::vector<Routing> routings_;
  std::size_t next_ = 0;
};

}  // namespace

void test_staging(Checks& checks, const Setting& setting) {
  Draw draw(setting.seed);
  const Arena arena(std::min(setting.row_count_max, kRowCounts.back()));
  Round round(checks, arena, draw);
  for (const std::int32_t row_count : kRowCounts) {
    if (row_count > setting.row_count_max) {
      continue;
    }
    const bool is_large = row_count >= kLargeRowCount;
    for (const std::int32_t hidden_size : kHiddenSizes) {
      for (const Filling filling : kFillings) {
        // Activations do not know of routings: with the first filling every routing has its turn.
        if (!is_large || filling == Filling::kRandom || filling == Filling::kAnyBits) {
          round.run(row_count, hidden_size, filling, !is_large && filling == Filling::kRandom);
        }
      }
    }
  }
}

}  // namespace eplb::gpu::test
