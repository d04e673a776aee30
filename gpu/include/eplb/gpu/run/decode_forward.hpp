#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "eplb/core/ids.hpp"
#include "eplb/core/load.hpp"
#include "eplb/core/shape.hpp"
#include "eplb/gpu/buffer.hpp"
#include "eplb/gpu/graph.hpp"
#include "eplb/gpu/layer_mapping.hpp"
#include "eplb/gpu/memory/rank_weights.hpp"
#include "eplb/gpu/program/gang.hpp"
#include "eplb/gpu/router.hpp"
#include "eplb/gpu/run/decode_kernels.hpp"
#include "eplb/gpu/staging.hpp"

namespace eplb::gpu {

/// What a stand-in forward takes, as the runner's user states it.
struct DecodeTimes {
  double layer_start_us = 0;       ///< Least time of an expert layer,
  double layer_us_per_row = 0;     ///< and what a row adds that arrives at the rank.
  double others_us_per_layer = 0;  ///< Every other kernel.
};

struct DecodeOptions {
  Shape shape;
  RankId rank;
  std::int32_t top_k = 0;
  std::int32_t row_count = 0;  ///< Rows of this rank in a forward.
  std::int32_t hidden_size = 0;
  StagingFormat format = StagingFormat::kBf16;
  DecodeTimes times = {};
  std::uint64_t seed = 1;
  /// Each layer ends with a cooperative kernel on all of the rank's multiprocessors, whose CTAs
  /// leave no room for another kernel: what a fused expert kernel is to the scheduler of a GPU.
  bool is_cooperative = true;
  std::int32_t words_per_pick = 4;  ///< Of weights, checked for each pick served here.
  std::int32_t block_count = 0;     ///< Of an expert layer: the multiprocessors that it may take.
};

/// One rank's forward as one graph: for each layer the router, fused staging (which maps and
/// counts), the tally of where rows go, the stand-in for the experts, and the rest's time. Replayed
/// for every step, with stable addresses.
class DecodeForward {
 public:
  struct Parts {
    /// How a layer's picks are mapped and counted: of the rank's environment.
    std::function<LayerMapping(LayerId)> mapping;
    std::span<const LayerWeights> layers;  ///< Of this rank.
    /// Tallies of all ranks as this device addresses them, zero at first; this rank's among them.
    std::span<std::byte* const> tallies;
    cudaStream_t stream = nullptr;
  };

  /// The layers' weights stay where they are as long as this is used. Captures the graph.
  DecodeForward(const DecodeOptions& options, const Parts& parts);

  /// From the next launch on experts are picked in proportion to `popularities` [layers, experts],
  /// none negative. No forward may be under way.
  void set_popularities(const RealLoadMatrix& popularities);

  /// Enqueues the forward of a step. The one before must have run.
  void launch(std::int64_t step);

  /// Whether the forward that was launched last has come to its last tenth.
  [[nodiscard]] bool nears_its_end() const {
    return *static_cast<const volatile std::int64_t*>(late_step_.data()) == *host_step_.data();
  }

  /// Enqueues the report's way to the host.
  void fetch_report();

  /// As last fetched; whole once that is known to have run.
  [[nodiscard]] const ServiceReport& report() const { return report_.fetched().front(); }

  /// Of the cooperative kernels; whole once the last launch is known to have run; none if there are
  /// none.
  [[nodiscard]] std::optional<program::GangReport> gang_report() const;

 private:
  void enqueue(cudaStream_t stream, const Parts& parts);
  void enqueue_layer(LayerId layer, cudaStream_t stream, const Parts& parts);

  DecodeOptions options_;
  cudaStream_t stream_;
  PickTallies tally_shape_;
  PinnedBuffer<std::int64_t> host_step_{1};
  DeviceBuffer<std::int64_t> step_{1};
  PinnedBuffer<std::int64_t> late_step_{1};  ///< The newest that has come to its last tenth.
  FetchedBuffer<ServiceReport> report_{1};
  PinnedBuffer<float> host_popularities_;
  DeviceBuffer<float> log_popularities_;
  DeviceBuffer<const std::int32_t*> tallies_;
  DeviceBuffer<float> logits_;
  DeviceBuffer<std::int64_t> logical_ids_;
  DeviceBuffer<float> router_weights_;
  DeviceBuffer<std::int64_t> slot_ids_;
  DeviceBuffer<float> staged_weights_;
  DeviceBuffer<std::uint16_t> activations_;
  DeviceBuffer<std::byte> staged_;
  DeviceBuffer<std::byte> scales_;
  std::optional<program::Gang> gang_;
  std::optional<GraphExec> graph_;
};

}  // namespace eplb::gpu
