#include <array>
#include <cstdio>
#include <string>
#include <type_traits>
#include <vector>

#include "eplb/gpu/buffer.hpp"
#include "eplb/gpu/device_maps.hpp"
#include "eplb/gpu/map_and_record.hpp"
#include "eplb/gpu/router.hpp"
#include "eplb/gpu/stream.hpp"
#include "report.hpp"
#include "router_case.hpp"
#include "workload.hpp"

namespace eplb::gpu::bench {
namespace {

using test::Draw;

constexpr std::uint64_t kSeed = 20261130;

struct Model {
  RouterRule rule;
  std::int32_t slot_count;
};

constexpr std::array kModels{Model{.rule = {.expert_count = 256,
                                            .top_k = 8,
                                            .scoring = RouterScoring::kSigmoid,
                                            .group_count = 8,
                                            .top_group_count = 4,
                                            .weight_factor = 2.5F},
                                   .slot_count = 288},
                             Model{.rule = {.expert_count = 384,
                                            .top_k = 6,
                                            .scoring = RouterScoring::kSigmoid,
                                            .weight_factor = 2.5F},
                                   .slot_count = 400}};

/// Rows of one layer. Logits lie in the L2, where the gate's product has just put them.
template <typename Logit>
class RoutedLayer {
 public:
  RoutedLayer(const Model& model, std::int32_t row_count)
      : rule_(model.rule),
        row_count_(row_count),
        slot_count_(model.slot_count),
        shape_(test::shape_of(rule_.expert_count, slot_count_)),
        maps_({.shape = shape_}, stream_.get()),
        logits_(static_cast<std::size_t>(row_count) * static_cast<std::size_t>(rule_.expert_count)),
        logical_ids_(pick_count()),
        slot_ids_(pick_count()),
        weights_(pick_count()) {
    Draw draw(kSeed);
    const LayerMap map = test::draw_map(shape_, draw);
    const LayerMapUpdate update{.layer = LayerId{0}, .map = &map};
    maps_.update({&update, 1});
    test::RouterCase router =
        test::drawn_router_case(rule_, row_count, test::LogitFilling::kRandom, true, draw);
    router.choice_bias.resize(static_cast<std::size_t>(rule_.expert_count), 0.125F);
    logits_.upload(test::as_logits<Logit>(router.logits), stream_.get());
    choice_bias_.upload(router.choice_bias, stream_.get());
    counts_.fill_bytes(0, stream_.get());
    gate_.upload(std::vector<std::int32_t>{1}, stream_.get());
    unpadded_.upload(std::vector<std::int32_t>{row_count}, stream_.get());
  }

  [[nodiscard]] std::size_t pick_count() const {
    return static_cast<std::size_t>(row_count_) * static_cast<std::size_t>(rule_.top_k);
  }

  /// Logits in, ids and weights out.
  [[nodiscard]] double moved_bytes() const {
    return static_cast<double>(logits_.bytes() + slot_ids_.bytes() + weights_.bytes());
  }

  /// The same choice, without EPLB.
  [[nodiscard]] RouterArguments<Logit, std::int64_t> alone() const {
    RouterArguments<Logit, std::int64_t> arguments;
    arguments.rule = rule_;
    arguments.logits = logits_.data();
    arguments.choice_bias = choice_bias_.data();
    arguments.row_count = row_count_;
    arguments.slot_ids = slot_ids_.data();
    arguments.weights = weights_.data();
    return arguments;
  }

  [[nodiscard]] RouterArguments<Logit, std::int64_t> fused() const {
    RouterArguments<Logit, std::int64_t> arguments = alone();
    arguments.mapping = mapping();
    return arguments;
  }

  /// Route and map, a launch each.
  void run_separately(cudaStream_t stream) const {
    RouterArguments<Logit, std::int64_t> routed = alone();
    routed.slot_ids = logical_ids_.data();
    route<Logit, std::int64_t>(routed, stream);
    MapArguments<std::int64_t> mapped;
    mapped.logical_ids = logical_ids_.data();
    mapped.slot_ids = slot_ids_.data();
    mapped.row_count = row_count_;
    mapped.top_k = rule_.top_k;
    mapped.mapping = mapping();
    map_and_record<std::int64_t>(mapped, stream);
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
    mapping.slot_count = slot_count_;
    return mapping;
  }

  RouterRule rule_;
  std::int32_t row_count_;
  std::int32_t slot_count_;
  Shape shape_;
  Stream stream_;
  DeviceMaps maps_;
  DeviceBuffer<Logit> logits_;
  DeviceBuffer<std::int64_t> logical_ids_;
  DeviceBuffer<std::int64_t> slot_ids_;
  DeviceBuffer<float> weights_;
  DeviceBuffer<float> choice_bias_{kExpertsMax};
  DeviceBuffer<std::int32_t> gate_{1};
  DeviceBuffer<std::int32_t> unpadded_{1};
  DeviceBuffer<std::int32_t> counts_{kExpertsMax};
};

template <typename Logit>
void time_model(Report& report, const Model& model, std::int32_t row_count) {
  const RoutedLayer<Logit> layer(model, row_count);
  const RouterRule& rule = model.rule;
  const std::string variant = std::to_string(row_count) + " x " + std::to_string(rule.top_k) +
                              " of " + std::to_string(rule.expert_count) + "/" +
                              std::to_string(model.slot_count) +
                              (rule.group_count > 1 ? ", 4 of 8 groups" : "") +
                              (std::is_same_v<Logit, float> ? ", float" : ", bf16");
  const auto add = [&](const std::string& name, const Timing& timing) {
    report.add(
        {.name = name, .variant = variant, .timing = timing, .moved_bytes = layer.moved_bytes()});
    return timing.median_us;
  };
  const auto alone = layer.alone();
  const auto fused = layer.fused();
  const double alone_us =
      add("route alone",
          time_launches([&](cudaStream_t stream) { route<Logit, std::int64_t>(alone, stream); }));
  const double fused_us =
      add("route fused",
          time_launches([&](cudaStream_t stream) { route<Logit, std::int64_t>(fused, stream); }));
  const double separate_us =
      add("route, map", time_launches([&](cudaStream_t stream) { layer.run_separately(stream); }));
  std::printf("  fused - alone %+.3f us, separate - fused %+.3f us\n", fused_us - alone_us,
              separate_us - fused_us);
}

}  // namespace

void bench_router(Report& report) {
  for (const std::int32_t row_count : {432, 1024, 16384}) {
    for (const Model& model : kModels) {
      time_model<float>(report, model, row_count);
      time_model<std::uint16_t>(report, model, row_count);
    }
  }
}

}  // namespace eplb::gpu::bench
