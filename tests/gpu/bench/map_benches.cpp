#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "eplb/gpu/buffer.hpp"
#include "eplb/gpu/device_maps.hpp"
#include "eplb/gpu/map_and_record.hpp"
#include "eplb/gpu/pass_recorder.hpp"
#include "eplb/gpu/stream.hpp"
#include "report.hpp"
#include "workload.hpp"
#include "yardsticks.hpp"

namespace eplb::gpu::bench {
namespace {

using test::Draw;
using test::Skew;

constexpr std::uint64_t kSeed = 20261130;

struct Model {
  std::int32_t top_k;
  std::int32_t expert_count;
  std::int32_t slot_count;
};

constexpr std::array kModels{Model{.top_k = 8, .expert_count = 256, .slot_count = 288},
                             Model{.top_k = 6, .expert_count = 384, .slot_count = 400}};

std::string variant_of(const Model& model, std::int32_t row_count, Skew skew) {
  return std::to_string(row_count) + " x " + std::to_string(model.top_k) + " of " +
         std::to_string(model.expert_count) + "/" + std::to_string(model.slot_count) + " " +
         test::name_of(skew);
}

/// A layer's inputs and outputs on the device. Ids lie in the L2, where a router has just put them.
class Layer {
 public:
  Layer(const Model& model, std::int32_t row_count, Skew skew)
      : model_(model),
        row_count_(row_count),
        shape_(test::shape_of(model.expert_count, model.slot_count)),
        maps_({.shape = shape_, .with_shares = true}, stream_.get()),
        ids_(id_count()),
        wide_ids_(id_count()),
        slot_ids_(id_count()),
        wide_slot_ids_(id_count()) {
    Draw map_draw(kSeed);
    const LayerMap map = test::draw_map(shape_, map_draw);
    const LayerMapUpdate update{.layer = LayerId{0}, .map = &map};
    maps_.update({&update, 1});
    // Both draw the same order of experts first, so the hottest have the most replicas, as in life.
    Draw draw(kSeed);
    const std::vector<std::int64_t> picks = test::draw_picks({.row_count = row_count,
                                                              .top_k = model.top_k,
                                                              .expert_count = model.expert_count,
                                                              .skew = skew},
                                                             draw);
    std::vector<std::int32_t> narrow(picks.size());
    std::ranges::transform(picks, narrow.begin(),
                           [](std::int64_t id) { return static_cast<std::int32_t>(id); });
    ids_.upload(narrow, stream_.get());
    wide_ids_.upload(picks, stream_.get());
    gate_.upload(std::vector<std::int32_t>{1}, stream_.get());
    unpadded_.upload(std::vector<std::int32_t>{row_count}, stream_.get());
    counts_.fill_bytes(0, stream_.get());
    slot_counts_.fill_bytes(0, stream_.get());
    stream_.synchronize();
  }

  [[nodiscard]] std::size_t id_count() const {
    return static_cast<std::size_t>(row_count_) * static_cast<std::size_t>(model_.top_k);
  }

  [[nodiscard]] MapArguments<std::int32_t> narrow(bool counts_slots) const {
    MapArguments<std::int32_t> arguments = common<std::int32_t>(counts_slots);
    arguments.logical_ids = ids_.data();
    arguments.slot_ids = slot_ids_.data();
    return arguments;
  }

  [[nodiscard]] MapArguments<std::int64_t> wide(bool counts_slots) const {
    MapArguments<std::int64_t> arguments = common<std::int64_t>(counts_slots);
    arguments.logical_ids = wide_ids_.data();
    arguments.slot_ids = wide_slot_ids_.data();
    return arguments;
  }

 private:
  template <typename Id>
  [[nodiscard]] MapArguments<Id> common(bool counts_slots) const {
    MapArguments<Id> arguments;
    arguments.row_count = row_count_;
    arguments.top_k = model_.top_k;
    arguments.mapping.map = maps_.view(LayerId{0});
    arguments.mapping.rank = 5;
    arguments.mapping.layer = 17;
    arguments.mapping.record_gate = gate_.data();
    arguments.mapping.unpadded_row_count = unpadded_.data();
    arguments.mapping.logical_counts = counts_.data();
    arguments.mapping.stripe_count = PassRecorder::kStripes;
    arguments.mapping.stripe_stride = kExpertsMax;
    arguments.mapping.slot_counts = counts_slots ? slot_counts_.data() : nullptr;
    arguments.mapping.slot_count = model_.slot_count;
    return arguments;
  }

  Model model_;
  std::int32_t row_count_;
  Shape shape_;
  Stream stream_;
  DeviceMaps maps_;
  DeviceBuffer<std::int32_t> ids_;
  DeviceBuffer<std::int64_t> wide_ids_;
  DeviceBuffer<std::int32_t> slot_ids_;
  DeviceBuffer<std::int64_t> wide_slot_ids_;
  DeviceBuffer<std::int32_t> gate_{1};
  DeviceBuffer<std::int32_t> unpadded_{1};
  DeviceBuffer<std::int32_t> counts_{std::size_t{kExpertsMax} * PassRecorder::kStripes};
  DeviceBuffer<std::int32_t> slot_counts_{kSlotsMax};
};

template <typename Id>
void time_map(Report& report, const std::string& name, const std::string& variant,
              const MapArguments<Id>& arguments) {
  report.add(
      {.name = name,
       .variant = variant,
       .timing = time_launches([&](cudaStream_t stream) { map_and_record<Id>(arguments, stream); }),
       .moved_bytes = 2.0 * sizeof(Id) * arguments.row_count * arguments.top_k});
}

void time_yardsticks(Report& report, const std::string& variant, const Layer& layer) {
  const double moved_bytes = 8.0 * static_cast<double>(layer.id_count());
  for (const bool counts_slots : {false, true}) {
    const MapArguments<std::int32_t> arguments = layer.narrow(counts_slots);
    report.add({.name = "global atomics",
                .variant = variant + (counts_slots ? " both" : " logical"),
                .timing = time_launches(
                    [&](cudaStream_t stream) { map_with_global_atomics(arguments, stream); }),
                .moved_bytes = moved_bytes});
  }
}

void time_layer(Report& report, const Model& model, std::int32_t row_count, Skew skew) {
  const Layer layer(model, row_count, skew);
  const std::string variant = variant_of(model, row_count, skew);
  time_map(report, "map_and_record", variant + " logical", layer.narrow(false));
  time_map(report, "map_and_record", variant + " both", layer.narrow(true));
  time_map(report, "map_and_record int64", variant + " logical", layer.wide(false));
  time_map(report, "map_and_record int64", variant + " both", layer.wide(true));
  MapArguments<std::int32_t> hashed = layer.narrow(false);
  hashed.mapping.choice = ReplicaChoice::kHash;
  time_map(report, "map_and_record hash", variant + " logical", hashed);
  MapArguments<std::int32_t> by_shares = layer.narrow(false);
  by_shares.mapping.choice = ReplicaChoice::kShares;
  time_map(report, "map_and_record by shares", variant + " logical", by_shares);
  MapArguments<std::int32_t> not_recording = layer.narrow(false);
  const DeviceBuffer<std::int32_t> shut_gate(1);
  const Stream stream;
  shut_gate.upload(std::vector<std::int32_t>{0}, stream.get());
  not_recording.mapping.record_gate = shut_gate.data();
  time_map(report, "map_and_record shut", variant, not_recording);
  time_yardsticks(report, variant, layer);
}

}  // namespace

void bench_mapping(Report& report) {
  for (const std::int32_t row_count : {432, 1024, 16384}) {
    for (const Model& model : kModels) {
      for (const Skew skew : test::kSkews) {
        time_layer(report, model, row_count, skew);
      }
      const Layer layer(model, row_count, Skew::kUniform);
      const MapArguments<std::int32_t> arguments = layer.narrow(false);
      report.add({.name = "copy of the ids",
                  .variant = variant_of(model, row_count, Skew::kUniform),
                  .timing = time_launches([&](cudaStream_t stream) {
                    copy_ids(arguments.logical_ids, arguments.slot_ids,
                             static_cast<std::int64_t>(layer.id_count()), stream);
                  }),
                  .moved_bytes = 8.0 * static_cast<double>(layer.id_count())});
    }
  }
}

void bench_map_launches(Report& report) {
  constexpr TimingOptions kQuick{.launches_per_sample = 100, .sample_count = 21};
  for (const std::int32_t row_count : {432, 1024, 16384}) {
    const Layer layer(kModels[0], row_count, Skew::kUniform);
    for (const bool counts_slots : {false, true}) {
      const MapArguments<std::int32_t> arguments = layer.narrow(counts_slots);
      for (const std::int32_t block_size : {128, 256, 512, 1024}) {
        for (const std::int32_t ids_per_thread : {1, 2, 4}) {
          const MapLaunch launch{.ids_per_thread = ids_per_thread, .block_size = block_size};
          report.add({.name = "map launch",
                      .variant = std::to_string(row_count) + " rows " +
                                 (counts_slots ? "both, " : "logical, ") +
                                 std::to_string(ids_per_thread) + " a thread, blocks of " +
                                 std::to_string(block_size),
                      .timing = time_launches(
                          [&](cudaStream_t stream) {
                            map_and_record<std::int32_t>(arguments, launch, stream);
                          },
                          kQuick)});
        }
      }
    }
  }
}

}  // namespace eplb::gpu::bench
