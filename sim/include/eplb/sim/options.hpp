#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "eplb/core/load.hpp"
#include "eplb/core/options.hpp"

namespace eplb::sim {

/// What an SM of a GPU can hold at once, and how many there are.
struct ProcessorOptions {
  std::int32_t sm_count = 132;
  std::int32_t ctas_per_sm = 32;
  std::int32_t threads_per_sm = 2048;
  std::int32_t registers_per_sm = 65536;
  std::int32_t shared_memory_per_sm_kb = 228;
};

/// Figures of a machine (configs/hardware). GB are decimal.
struct HardwareOptions {
  std::string device;  ///< What the figures are of, as a driver names it.
  std::int32_t gpus_per_node = 0;
  std::int32_t gpus_per_domain = 0;  ///< GPUs of one NVLink domain.

  double hbm_bandwidth_gb_per_s = 0;
  double hbm_efficiency = 0;         ///< Share of it that streaming weights reach, (0, 1].
  double bf16_tflops = 0;            ///< Dense arithmetic peak for BF16 weights.
  double fp8_tflops = 0;             ///< For 8-bit rows; 0 where the device has none.
  double fp4_tflops = 0;             ///< For 4-bit rows and weights; 0 where it has none.
  double arithmetic_efficiency = 0;  ///< Share of the peak that expert GEMMs reach, (0, 1].

  double nvlink_bandwidth_gb_per_s = 0;   ///< One GPU, one direction, as kernels reach it.
  double network_bandwidth_gb_per_s = 0;  ///< One GPU, one direction, between domains.
  double expert_layer_start_us = 0;       ///< Least time of an expert layer.

  double peer_copy_bandwidth_gb_per_s = 0;     ///< Copy engine, bulk, one direction, in a domain.
  double peer_copy_start_us = 0;               ///< What each copy costs on top of its bytes.
  double network_copy_bandwidth_gb_per_s = 0;  ///< Weights between domains, one GPU.
  double network_copy_start_us = 0;

  double plan_us_per_layer = 0;  ///< Host time of a policy.

  // What kernels of a program (sim/program) compete for.
  std::int32_t sm_count = 132;
  std::int32_t ctas_per_sm = 32;
  std::int32_t threads_per_sm = 2048;
  std::int32_t registers_per_sm = 65536;
  std::int32_t shared_memory_per_sm_kb = 228;
};

/// Ranks of one NVLink domain: it holds whole nodes, and each of them as many ranks as the run puts
/// on a node. Needs a positive gpus_per_node.
[[nodiscard]] constexpr std::int32_t ranks_per_domain(const HardwareOptions& hardware,
                                                      const ParallelOptions& parallel) {
  const std::int64_t ranks =
      std::int64_t{hardware.gpus_per_domain} * parallel.ranks_per_node / hardware.gpus_per_node;
  return static_cast<std::int32_t>(ranks > 1 ? ranks : 1);
}

/// Peak rate of a GEMM with expert weights of `format`, that of the wider of weights and rows; 0
/// where the device cannot compute so. Rows are 8-bit for MXFP4, 4-bit for NVFP4 (8-bit on a device
/// without FP4), and 16-bit for 4-bit integers, which no device here computes with.
[[nodiscard]] constexpr double arithmetic_tflops(const HardwareOptions& hardware,
                                                 WeightFormat format) {
  switch (format) {
    case WeightFormat::kBf16:
    case WeightFormat::kInt4Group32:
      return hardware.bf16_tflops;
    case WeightFormat::kFp8Block128:
    case WeightFormat::kMxfp8:
    case WeightFormat::kMxfp4:
      return hardware.fp8_tflops;
    case WeightFormat::kNvfp4:
      return hardware.fp4_tflops > 0 ? hardware.fp4_tflops : hardware.fp8_tflops;
  }
  return 0;
}

/// The serving step around the expert layers.
struct ServingOptions {
  std::int32_t requests_per_rank = 0;       ///< Decoding requests on each rank.
  std::int32_t tokens_per_request = 1;      ///< Rows a request brings to a step (1 + drafts).
  double accepted_tokens = 1;               ///< Tokens a request gains in a step.
  double other_kernels_base_ms = 0;         ///< Everything but the expert layers: fixed part.
  double other_kernels_per_request_ms = 0;  ///< The part that grows with requests a rank.
};

/// Every expert alike.
struct UniformRouting {};

/// Expert of popularity rank i gets weight (i + 1)^-exponent.
struct ZipfRouting {
  double exponent = 1;
};

/// Weight exp(sigma z), z standard normal.
struct LognormalRouting {
  double sigma = 0.7;
};

/// Weight by inverse transform of a density w^-exponent on [1, weight_max].
struct PowerLawRouting {
  double exponent = 1.2;
  double weight_max = 1024;
};

/// Measured counts: each window's distribution holds for steps_per_window steps, then the next;
/// after the last comes the first.
struct CountsRouting {
  std::string file;
  std::vector<RealLoadMatrix> windows;  ///< Each [layers, experts].
  std::int64_t steps_per_window = 1000;
};

/// Measured counts of several kinds of text, mixed by a schedule that repeats.
struct DomainsRouting {
  struct Domain {
    std::string name;
    RealLoadMatrix counts;  ///< [layers, experts]; only its shape matters, not its sum.
  };

  struct Phase {
    std::int64_t steps = 0;
    std::vector<double> shares;  ///< Of tokens, one a domain; they need not sum to 1.
  };

  std::string file;
  std::vector<Domain> domains;
  std::vector<Phase> schedule;
};

using RoutingOptions = std::variant<UniformRouting, ZipfRouting, LognormalRouting, PowerLawRouting,
                                    CountsRouting, DomainsRouting>;

struct NoDrift {};

/// Log weights forget themselves: their correlation over `correlation_steps` is 1/e, spread kept.
struct WalkDrift {
  std::int64_t correlation_steps = 10000;
};

/// Every so many steps the weights of a layer are dealt to its experts anew.
struct SwitchDrift {
  std::int64_t every_steps = 5000;
};

/// Every so many steps one expert a layer, drawn anew, is `factor` times as popular for a while.
struct BurstDrift {
  std::int64_t every_steps = 5000;
  std::int64_t duration_steps = 500;
  double factor = 8;
};

using DriftOptions = std::variant<NoDrift, WalkDrift, SwitchDrift, BurstDrift>;

enum class Noise : std::uint8_t {
  kNone,         ///< Expected counts, rounded so that they sum exactly.
  kMultinomial,  ///< Counts drawn about them.
};

struct WorkloadOptions {
  RoutingOptions routing = UniformRouting{};
  DriftOptions drift = NoDrift{};
  Noise noise = Noise::kMultinomial;
};

struct RunOptions {
  std::int64_t steps = 8000;
  std::uint64_t seed = 1;
  bool compare_off = false;  ///< Also run without EPLB under the same random numbers.
};

/// All that one simulation depends on.
struct Scenario {
  ModelOptions model;
  std::vector<ModelOptions> drafts =
      {};  ///< Speculate for it in the same EP group, each once a step.
  HardwareOptions hardware;
  ParallelOptions parallel;
  EngineOptions engine = {};
  ServingOptions serving;
  WorkloadOptions workload;
  EplbOptions eplb;
  RunOptions run;
};

}  // namespace eplb::sim
