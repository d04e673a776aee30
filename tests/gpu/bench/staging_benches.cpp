#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "eplb/gpu/buffer.hpp"
#include "eplb/gpu/device_maps.hpp"
#include "eplb/gpu/map_and_record.hpp"
#include "eplb/gpu/pass_recorder.hpp"
#include "eplb/gpu/staging.hpp"
#include "eplb/gpu/stream.hpp"
#include "report.hpp"
#include "staging_yardsticks.hpp"
#include "workload.hpp"
#include "yardsticks.hpp"

namespace eplb::gpu::bench {
namespace {

using test::Draw;
using test::Skew;

constexpr std::uint64_t kSeed = 20261130;
constexpr std::int32_t kHiddenSize = 5120;
constexpr std::int32_t kTopK = 6;
constexpr std::int32_t kExpertCount = 384;
/// What a copy on an H200 moves, bytes in and bytes out together.
constexpr double kCopyBytesPerUs = 4.3e6;

constexpr std::array kFormats{StagingFormat::kBf16, StagingFormat::kMxfp8, StagingFormat::kFp8,
                              StagingFormat::kNvfp4};
constexpr std::array kFormatNames{"bf16", "mxfp8", "fp8", "nvfp4"};

/// Who maps where nothing is fused.
enum class Mapping : std::uint8_t { kOurs, kPublished };

/// Rows of one layer, in the L2 where the kernel before has just put them.
class StagedLayer {
 public:
  StagedLayer(std::int32_t row_count, std::int32_t slot_count, Skew skew)
      : row_count_(row_count),
        slot_count_(slot_count),
        shape_(test::shape_of(kExpertCount, slot_count)),
        maps_({.shape = shape_, .with_shares = true}, stream_.get()),
        activations_(element_count()),
        staged_(2 * element_count()),
        scales_(element_count() / 16),
        logical_ids_(pick_count()),
        masked_ids_(pick_count()),
        mapped_ids_(pick_count()),
        slot_ids_(pick_count()),
        router_weights_(pick_count()),
        staged_weights_(pick_count()),
        is_padding_(static_cast<std::size_t>(row_count)) {
    Draw draw(kSeed);
    const LayerMap map = test::draw_map(shape_, draw);
    const LayerMapUpdate update{.layer = LayerId{0}, .map = &map};
    maps_.update({&update, 1});
    logical_ids_.upload(
        test::draw_picks(
            {.row_count = row_count, .top_k = kTopK, .expert_count = kExpertCount, .skew = skew},
            draw),
        stream_.get());
    std::vector<std::uint16_t> activations(element_count());
    for (std::uint16_t& bits : activations) {  // Of magnitudes from 2^-15 to 2.
      bits = static_cast<std::uint16_t>(((draw.bits() >> 48U) & 0x87FFU) | 0x3800U);
    }
    activations_.upload(activations, stream_.get());
    router_weights_.upload(std::vector<float>(pick_count(), 0.25F), stream_.get());
    is_padding_.fill_bytes(0, stream_.get());
    counts_.fill_bytes(0, stream_.get());
    gate_.upload(std::vector<std::int32_t>{1}, stream_.get());
    unpadded_.upload(std::vector<std::int32_t>{row_count}, stream_.get());
  }

  [[nodiscard]] std::size_t element_count() const {
    return static_cast<std::size_t>(row_count_) * kHiddenSize;
  }

  [[nodiscard]] std::size_t pick_count() const {
    return static_cast<std::size_t>(row_count_) * kTopK;
  }

  [[nodiscard]] StagingArguments<std::int64_t> fused(StagingFormat format) const {
    StagingArguments<std::int64_t> arguments = alone(format);
    arguments.mapping = mapping();
    return arguments;
  }

  /// The same staging, without EPLB.
  [[nodiscard]] StagingArguments<std::int64_t> alone(StagingFormat format) const {
    StagingArguments<std::int64_t> arguments;
    arguments.format = format;
    arguments.activations = activations_.data();
    arguments.row_count = row_count_;
    arguments.hidden_size = kHiddenSize;
    arguments.staged = staged_.data();
    arguments.scales = scales_.data();
    arguments.logical_ids = logical_ids_.data();
    arguments.router_weights = router_weights_.data();
    arguments.top_k = kTopK;
    arguments.slot_ids = slot_ids_.data();
    arguments.staged_weights = staged_weights_.data();
    arguments.is_padding = is_padding_.data();
    return arguments;
  }

  /// Mask, map and stage, a launch each.
  void run_separately(StagingFormat format, Mapping mapping_by, cudaStream_t stream) const {
    mask_ids(logical_ids_.data(), is_padding_.data(), masked_ids_.data(), row_count_, kTopK,
             stream);
    MapArguments<std::int64_t> masked;
    masked.logical_ids = masked_ids_.data();
    masked.slot_ids = mapped_ids_.data();
    masked.row_count = row_count_;
    masked.top_k = kTopK;
    masked.mapping = mapping();
    if (mapping_by == Mapping::kOurs) {
      map_and_record<std::int64_t>(masked, stream);
    } else {
      map_with_global_atomics<std::int64_t>(masked, stream);
    }
    StagingArguments<std::int64_t> staging = alone(format);
    staging.logical_ids = mapped_ids_.data();
    stage<std::int64_t>(staging, stream);
  }

 private:
  [[nodiscard]] LayerMapping mapping() const {
    LayerMapping mapping;
    mapping.map = maps_.view(LayerId{0});
    mapping.rank = 5;
    mapping.layer = 17;
    mapping.record_gate = gate_.data();
    mapping.unpadded_row_count = unpadded_.data();
    mapping.logical_counts = counts_.data();
    mapping.stripe_count = PassRecorder::kStripes;
    mapping.stripe_stride = kExpertCount;
    mapping.slot_count = slot_count_;
    return mapping;
  }

  std::int32_t row_count_;
  std::int32_t slot_count_;
  Shape shape_;
  Stream stream_;
  DeviceMaps maps_;
  DeviceBuffer<std::uint16_t> activations_;
  DeviceBuffer<std::uint8_t> staged_;
  DeviceBuffer<std::uint8_t> scales_;
  DeviceBuffer<std::int64_t> logical_ids_;
  DeviceBuffer<std::int64_t> masked_ids_;
  DeviceBuffer<std::int64_t> mapped_ids_;
  DeviceBuffer<std::int64_t> slot_ids_;
  DeviceBuffer<float> router_weights_;
  DeviceBuffer<float> staged_weights_;
  DeviceBuffer<std::uint8_t> is_padding_;
  DeviceBuffer<std::int32_t> gate_{1};
  DeviceBuffer<std::int32_t> unpadded_{1};
  DeviceBuffer<std::int32_t> counts_{std::size_t{PassRecorder::kStripes} * kExpertCount};
};

/// Ids and weights in and out, the mask, activations in, staged values and scales out.
double moved_bytes(const StagedLayer& layer, StagingFormat format) {
  const auto elements = static_cast<std::int64_t>(layer.element_count());
  return static_cast<double>(2 * elements + staged_bytes(format, elements) +
                             scale_bytes(format, elements)) +
         24.0 * static_cast<double>(layer.pick_count());
}

void time_format(Report& report, const StagedLayer& layer, std::size_t format_index,
                 const std::string& variant, double nothing_us) {
  const StagingFormat format = kFormats[format_index];
  const double bytes = moved_bytes(layer, format);
  const auto add = [&](const std::string& name, const Timing& timing) {
    report.add({.name = name + " " + kFormatNames[format_index],
                .variant = variant,
                .timing = timing,
                .moved_bytes = bytes});
    return timing.median_us;
  };
  const auto alone = layer.alone(format);
  const auto fused = layer.fused(format);
  const double alone_us =
      add("stage alone",
          time_launches([&](cudaStream_t stream) { stage<std::int64_t>(alone, stream); }));
  const double fused_us =
      add("stage fused",
          time_launches([&](cudaStream_t stream) { stage<std::int64_t>(fused, stream); }));
  auto by_shares = fused;
  by_shares.mapping.choice = ReplicaChoice::kShares;
  const double by_shares_us =
      add("stage fused by shares",
          time_launches([&](cudaStream_t stream) { stage<std::int64_t>(by_shares, stream); }));
  const double separate_us = add("mask, map, stage", time_launches([&](cudaStream_t stream) {
                                   layer.run_separately(format, Mapping::kOurs, stream);
                                 }));
  const double published_us =
      add("mask, published map, stage", time_launches([&](cudaStream_t stream) {
            layer.run_separately(format, Mapping::kPublished, stream);
          }));
  const double floor_us = bytes / kCopyBytesPerUs + nothing_us;
  std::printf(
      "  fused - alone %+.3f us, by shares %+.3f us, separate / fused %.2f, published / fused "
      "%.2f, "
      "floor %.3f us, fused / floor %.2f\n",
      fused_us - alone_us, by_shares_us - alone_us, separate_us / fused_us, published_us / fused_us,
      floor_us, fused_us / floor_us);
}

}  // namespace

void bench_staging(Report& report) {
  const Timing nothing = time_launches(launch_nothing);
  report.add({.name = "nothing", .variant = "beside staging", .timing = nothing});
  for (const std::int32_t row_count : {432, 768}) {
    for (const std::int32_t redundant : {16, 32}) {
      for (const Skew skew : {Skew::kUniform, Skew::kHot}) {
        const StagedLayer layer(row_count, kExpertCount + redundant, skew);
        const std::string variant = std::to_string(row_count) + " x 5120, 6 of 384+" +
                                    std::to_string(redundant) + " " + test::name_of(skew);
        for (std::size_t index = 0; index < kFormats.size(); ++index) {
          time_format(report, layer, index, variant, nothing.median_us);
        }
      }
    }
  }
}

}  // namespace eplb::gpu::bench
