#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "eplb/core/failure.hpp"
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

  // The expert kernel, beyond the shares of memory and arithmetic above (docs/cost-model.md).
  double expert_layer_start_us = 0;           ///< Least time of an expert layer on one rank.
  double expert_layer_start_per_rank_us = 0;  ///< What each further rank of the group adds.
  double expert_wire_efficiency = 1;  ///< Share of the port's rate in dispatch and combine, (0, 1].
  /// Rate at which rows pass through memory on their way, which nothing hides; none: at once.
  std::optional<double> expert_row_bandwidth_gb_per_s = {};

  // What a balancer costs a forward on the device.
  double fused_mapping_us = 0;         ///< Of a layer, in the staging kernel.
  double mapping_start_us = 0;         ///< Of a layer, by a kernel of its own, and then
  double record_ns_per_pick = 0;       ///< for each (row, k) of a rank, counted once,
  double record_ns_second_count = 0;   ///< for each that is counted twice,
  double record_ns_per_collision = 0;  ///< and for each on the busiest counter.
  double step_kernel_us = 0;           ///< Of a step, closing its counts.

  double peer_copy_bandwidth_gb_per_s = 0;     ///< Copy engine, bulk, one direction, in a domain.
  double peer_copy_start_us = 0;               ///< What each copy costs on top of its bytes.
  double network_copy_bandwidth_gb_per_s = 0;  ///< Weights between domains, one GPU.
  double network_copy_start_us = 0;
  double network_copy_latency_us = 0;  ///< Of a copy that finds its stream idle.

  double plan_us_per_layer = 0;           ///< Host time of a policy,
  double learn_shares_us_per_layer = 28;  ///< and of learning shares after it.

  // The links. A figure that is not given follows from those above (sim/cluster/cluster.hpp).
  std::int32_t nvlink_links = 18;  ///< Of a GPU; a failed one takes its share away.
  std::optional<double> nvlink_peak_gb_per_s = {};  ///< One GPU, one direction, payload and all.
  /// Share of its rate that a copy keeps while one of the same size comes the other way, (0, 1].
  double nvlink_bidirectional_efficiency = 1;
  std::optional<std::int32_t> nics_per_node = {};
  std::optional<double> nic_bandwidth_gb_per_s = {};  ///< A card, one direction.
  std::int32_t network_rails = 1;                     ///< Cards that one transfer is striped over.
  double network_oversubscription = 1;       ///< Cards of a domain over its way to other domains.
  double host_link_bandwidth_gb_per_s = 50;  ///< GPU to host memory, one direction.
  double host_link_latency_us = 5;           ///< A small copy there or back.

  // Copies.
  std::int32_t copy_engines = 3;                     ///< Copies of a GPU that run at once.
  double peer_copy_latency_us = 0;                   ///< Of a copy that finds its stream idle.
  std::optional<double> batched_copy_start_us = {};  ///< As peer_copy_start_us, in a batched call.
  double copy_issue_us = 0;                          ///< Of the host thread, a copy.
  std::optional<double> local_copy_bandwidth_gb_per_s = {};  ///< Within a GPU, read and write.
  double local_copy_start_us = 0;                            ///< A batch of such copies.
  double hbm_shared_efficiency = 1;  ///< Share of the peak for several that stream at once.
  std::optional<double> nccl_copy_bandwidth_gb_per_s = {};  ///< Send and receive, bulk, NVLink.
  std::optional<double> nccl_copy_start_us = {};            ///< What each of its tensors costs.

  // The hosts.
  double gloo_bandwidth_gb_per_s = 1;  ///< Of tensors through host memory and TCP.
  double gloo_copy_start_us = 100;
  double tcp_bandwidth_gb_per_s = 0.12;  ///< Of NIXL where it falls back to TCP.
  double tcp_hop_us = 45;                ///< A message between hosts by TCP.
  double control_hop_us = 15;            ///< A control message between hosts.
  double control_hop_in_node_us = 1;
  double map_publish_us = 2;  ///< A map's way to the device.

  // What kernels of a program (sim/program) compete for.
  std::int32_t sm_count = 132;
  std::int32_t ctas_per_sm = 32;
  std::int32_t threads_per_sm = 2048;
  std::int32_t registers_per_sm = 65536;
  std::int32_t shared_memory_per_sm_kb = 228;
};

/// Read and write together; as stated, else what streaming weights reach.
[[nodiscard]] constexpr double local_copy_gb_per_s(const HardwareOptions& hardware) {
  return hardware.local_copy_bandwidth_gb_per_s.value_or(hardware.hbm_bandwidth_gb_per_s *
                                                         hardware.hbm_efficiency);
}

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
  /// The part that grows with prefill tokens, for each.
  double other_kernels_per_prefill_token_ms = 0;
  /// Standard deviation of a rank's own part of a step (contexts differ), as a share of that part:
  /// of per_request x requests_per_rank. The first expert layer waits for the last rank.
  double rank_imbalance = 0;
  double boundary_idle_ms = 0;     ///< The device waits for its host between two forwards.
  double prefill_tokens_mean = 0;  ///< Rows of prompts on a rank in a step, beside decoding.
  double prefill_tokens_cv = 0;    ///< Their standard deviation over ranks and steps / mean.
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

/// From when to when a fault is there, in simulated time.
struct FaultSpan {
  double at_ms = 0;
  std::optional<double> until_ms = {};  ///< None: to the end.
};

/// NVLink links of a rank's GPU that carry nothing.
struct FailedLinks : FaultSpan {
  std::int32_t rank = 0;
  std::int32_t links = 1;
};

enum class Port : std::uint8_t { kNvlink, kNetwork };

/// A port that keeps only a share of its rate, both ways.
struct SlowPort : FaultSpan {
  std::int32_t rank = 0;
  Port port = Port::kNvlink;
  double share = 0.5;  ///< (0, 1].
};

/// A host that is late at every step.
struct Straggler : FaultSpan {
  std::int32_t rank = 0;
  double late_us = 0;  ///< From the end of a forward to the rank's next call, on top of others'.
};

/// A host that does nothing at all for a while.
struct HostStall {
  std::int32_t rank = 0;
  double at_ms = 0;
  double duration_ms = 0;
};

/// During what a rank is lost; its migration's state, or any.
enum class LostWhile : std::uint8_t {
  kAny,
  kStarting,
  kIdle,
  kAggregating,
  kPlanning,
  kMoving,
  kAborting,
};

/// None for any.
[[nodiscard]] constexpr std::optional<MigrationState> state_of(LostWhile moment) {
  switch (moment) {
    case LostWhile::kAny:
      return std::nullopt;
    case LostWhile::kStarting:
      return MigrationState::kStarting;
    case LostWhile::kIdle:
      return MigrationState::kIdle;
    case LostWhile::kAggregating:
      return MigrationState::kAggregating;
    case LostWhile::kPlanning:
      return MigrationState::kPlanning;
    case LostWhile::kMoving:
      return MigrationState::kMoving;
    case LostWhile::kAborting:
      return MigrationState::kAborting;
  }
  return std::nullopt;
}

/// A process that ends without a word.
struct LostRank {
  std::int32_t rank = 0;
  double at_ms = 0;
  LostWhile moment = LostWhile::kAny;  ///< From at_ms on, the first one.
};

/// What goes wrong in a run.
struct FaultOptions {
  std::vector<FailedLinks> failed_links = {};
  std::vector<SlowPort> slow_ports = {};
  std::vector<Straggler> stragglers = {};
  std::vector<HostStall> host_stalls = {};
  std::vector<LostRank> lost_ranks = {};
};

struct RunOptions {
  std::int64_t steps = 8000;
  std::int64_t warmup_steps = 0;  ///< The first ones, which count in no mean and no sum.
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
  FaultOptions faults = {};
  RunOptions run;
};

}  // namespace eplb::sim
