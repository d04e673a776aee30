#pragma once

// What stands in for a model's own kernels in `eplb run`: the load that a workload brings, and
// expert layers that read weights and take time as real ones do. All can be captured; what changes
// from one replay to the next is read from memory.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>

#include "eplb/gpu/memory/rank_weights.hpp"

namespace eplb::gpu {

/// Router logits whose `top_k` largest are a draw of experts without replacement, in proportion to
/// the experts' popularities: log popularity plus Gumbel noise (E. J. Gumbel's trick, for several
/// picks by W. Kool, H. van Hoof and M. Welling, 2019). A pure function of seed, rank, step, layer,
/// row and expert.
struct LogitDraw {
  std::uint64_t seed = 0;
  std::uint32_t rank = 0;
  std::uint32_t layer = 0;
  const std::int64_t* step = nullptr;       ///< Read when the kernel runs.
  const float* log_popularities = nullptr;  ///< [experts]
  float* logits = nullptr;                  ///< [rows, experts]
  std::int32_t row_count = 0;
  std::int32_t expert_count = 0;
};

void draw_logits(const LogitDraw& draw, cudaStream_t stream);

/// Where ranks leave how many of their picks went to each slot, [2, layers, slots] int32: of the
/// even and of the odd steps, so that those of a step are read while the next one's are written.
struct PickTallies {
  std::int32_t layer_count = 0;
  std::int32_t slot_count = 0;

  [[nodiscard]] std::int64_t bytes() const {
    return std::int64_t{2} * layer_count * slot_count * std::int64_t{sizeof(std::int32_t)};
  }
};

struct TallyArguments {
  const std::int64_t* slot_ids = nullptr;  ///< [picks]; negative ids are not counted.
  std::int32_t pick_count = 0;
  const std::int64_t* step = nullptr;
  PickTallies shape;
  std::int32_t layer = 0;
  std::int32_t* tallies = nullptr;  ///< This rank's.
};

/// Counts a layer's picks by slot, in one block.
void tally_picks(const TallyArguments& arguments, cudaStream_t stream);

/// What the expert layers of a rank found, added up over all forwards.
struct ServiceReport {
  unsigned long long rows = 0;  ///< That arrived at this rank's slots.
  unsigned long long words_checked = 0;
  unsigned long long words_wrong = 0;  ///< Weights that were not those of the expert asked for.
  std::int32_t wrong_layer = -1;       ///< Of one of them.
  std::int32_t wrong_expert = -1;
  std::int32_t wrong_slot = -1;  ///< Local.
};

struct LayerService {
  std::int32_t rank = 0;
  std::int32_t slots_per_rank = 0;
  std::int32_t layer = 0;
  const std::int64_t* step = nullptr;
  PickTallies shape;
  /// Of all ranks, as this device addresses them, in device memory: [ranks].
  const std::int32_t* const* tallies = nullptr;
  std::int32_t rank_count = 0;

  const std::int64_t* logical_ids = nullptr;  ///< [picks] of this rank's rows,
  const std::int64_t* slot_ids = nullptr;     ///< and where they went.
  std::int32_t pick_count = 0;
  std::int32_t words_per_pick = 4;  ///< Checked of the weights that a pick finds here.

  double start_ns = 0;    ///< The layer's least time,
  double ns_per_row = 0;  ///< and what each row adds that arrives.
  std::int32_t block_count = 0;
  ServiceReport* report = nullptr;    ///< In device memory.
  std::int64_t* late_step = nullptr;  ///< In pinned memory, set to the step at once; null: no word.
};

/// Stands in for a layer's experts on one rank. Reads the weights of every slot that rows arrived
/// at in the step before (what the load of this step does to the time is seen a step late, so that
/// no rank waits for another on the device), checks that the slots which this rank's own picks
/// find here hold the experts that were picked (fill_row's content), and takes at least the time
/// that the rows call for. Throws std::invalid_argument on more than kTensorsMax tensors.
void serve_layer(const LayerService& service, std::span<const WeightTensor> tensors,
                 cudaStream_t stream);

/// One thread waits so long, at most a second: every other kernel of a layer.
void take_time(double duration_ns, cudaStream_t stream);

}  // namespace eplb::gpu
