#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "eplb/core/replica_choice.hpp"
#include "eplb/core/result.hpp"
#include "eplb/core/shape.hpp"

namespace eplb {

/// How an expert's parameters are stored; block scales included.
enum class WeightFormat : std::uint8_t {
  kBf16,
  kFp8Block128,  ///< E4M3, one float32 scale a block of 128 x 128.
  kMxfp8,        ///< E4M3, one UE8M0 scale a group of 32.
  kMxfp4,        ///< E2M1, one UE8M0 scale a group of 32.
  kNvfp4,        ///< E2M1, one E4M3 scale a group of 16.
  kInt4Group32,  ///< 4-bit integers, one bfloat16 scale a group of 32.
};

/// The mixture-of-experts part of a model (configs/models).
struct ModelOptions {
  std::string name;
  std::int32_t moe_layers = 0;
  std::int32_t hidden = 0;            ///< Width of a row as the experts see it.
  std::int32_t moe_intermediate = 0;  ///< Inner width of one expert.
  std::int32_t logical_experts = 0;
  std::int32_t top_k = 0;
  std::int32_t expert_groups = 1;
  WeightFormat weight_format = WeightFormat::kBf16;
};

/// Bytes of one expert's three matrices with their scales, rounded up.
[[nodiscard]] std::int64_t bytes_per_expert(const ModelOptions& model);

/// FLOPs of one row through one expert: two for each of its parameters.
[[nodiscard]] double flops_per_row(const ModelOptions& model);

/// The EP group grows or shrinks while it serves.
struct ScaleEvent {
  std::int64_t at_step = 0;  ///< After so many steps.
  std::int32_t ranks = 0;    ///< Members from then on.
};

/// How the model is spread over GPUs.
struct ParallelOptions {
  std::int32_t ranks = 0;            ///< Members of the EP group.
  std::int32_t ranks_per_node = 0;   ///< Ranks that share a host.
  std::int32_t ranks_per_gpu = 1;    ///< That share a GPU, as threads of one process.
  std::int32_t data_parallel = 0;    ///< Ranks that serve requests of their own; 0: all.
  std::int32_t pipeline_stages = 1;  ///< Each has an EP group of `ranks` and a share of the layers.
  std::vector<ScaleEvent> scale = {};  ///< By step, ascending; none: not elastic.
};

/// What brings rows across ranks. The NCCL ones differ in who owns the communicator only.
enum class Communicator : std::uint8_t {
  kAuto,
  kSymmMem,    ///< Push into the receiver's symmetric memory, by copy engines.
  kNixl,       ///< One-sided read by the receiver.
  kTorchNccl,  ///< Paired send and receive, by kernels.
  kPynccl,
  kTorchGloo,  ///< Paired, through host memory.
};

/// How ranks learn that landing rows are free and that rows have landed.
enum class Handshake : std::uint8_t {
  kStatuses,  ///< By the statuses that are posted anyway.
  kBarriers,  ///< By a barrier of the hosts before and after each execute, as the reference has it.
};

enum class OnFailure : std::uint8_t {
  kKeepServing,  ///< Abort on all ranks, serve on with what was committed, try again.
  kRaise,        ///< The same error on every rank.
};

/// The way that NIXL's reads take, which is its environment's choice (UCX).
enum class NixlPath : std::uint8_t {
  kAuto,     ///< NVLink within a node, the network between nodes, as it was seen to choose.
  kNvlink,   ///< NVLink within a domain, the network between domains.
  kNetwork,  ///< RDMA everywhere.
  kTcp,      ///< What it falls back to without RDMA.
};

/// How the hosts of a group sum up and wait for each other.
enum class HostCollectives : std::uint8_t {
  kTree,
  kRing,          ///< As gloo does over TCP: every rank's part goes round.
  kSharedMemory,  ///< A board in each host, a tree between hosts.
};

/// What a forward counts its tokens by.
enum class LoadCounting : std::uint8_t {
  kLogical,   ///< By logical expert, what the window needs.
  kPhysical,  ///< By slot, as engines did that fold counts through the map later.
  kBoth,
};

/// Where rows are given their replicas, and counted.
enum class ReplicaMapping : std::uint8_t {
  kFused,     ///< In the kernel that stages rows for dispatch.
  kSeparate,  ///< In a kernel of its own, which counts with one atomic a pick.
};

/// What the serving engine runs beside the balancer, as far as the balancer must know.
struct EngineOptions {
  std::string all2all = {};                        ///< vLLM's all2all backend, by name.
  std::string moe_backend = "deep_gemm_mega_moe";  ///< vLLM's MoE backend, by name.
  std::string nccl_max_ctas = {};                  ///< The user's NCCL_MAX_CTAS; empty if not set.
  bool nixl = false;                               ///< Whether NIXL is installed.
  /// SMs that a cooperative expert kernel takes; none: all.
  std::optional<std::int32_t> moe_sms = std::nullopt;
  NixlPath nixl_path = NixlPath::kAuto;
  HostCollectives host_collectives = HostCollectives::kSharedMemory;
  // What a run is charged for; the window is by logical expert in any case.
  LoadCounting load_counting = LoadCounting::kLogical;
  ReplicaMapping replica_mapping = ReplicaMapping::kFused;
  bool readiness_all_reduce = false;  ///< Hosts agree on a flag before each step, and wait for it.
};

/// When a layer's migration is worth what it costs (eplb/core/trigger.hpp).
struct TriggerOptions {
  /// Steps for which a gain is taken to last; none: step_interval.
  std::optional<std::int32_t> horizon_steps = std::nullopt;
  double price = 1;            ///< Factor on what the cost model says a migration costs.
  double hysteresis = 0.005;   ///< Share of a layer's time that a gain must exceed to count.
  std::int32_t cool_down = 0;  ///< Rearrangements for which a layer that has moved stays.

  friend bool operator==(const TriggerOptions&, const TriggerOptions&) = default;
};

/// The balancer's settings; names and defaults of vLLM's --eplb-config, then ours.
struct EplbOptions {
  bool enabled = true;
  std::int32_t num_redundant_experts = 0;
  std::int32_t window_size = 1000;    ///< Recorded steps that the window holds.
  std::int32_t step_interval = 3000;  ///< Steps from one rearrangement to the next.
  bool use_async = true;              ///< Serve while weights move; else hold until they have.
  std::string policy = "default";

  ReplicaChoice replica_choice = ReplicaChoice::kHash;
  std::int32_t window_parts = 4;    ///< Sums that a window is read out as.
  std::int32_t history_parts = 16;  ///< Newest parts that a policy is shown.
  std::optional<double> window_half_life_steps = std::nullopt;

  Communicator communicator = Communicator::kAuto;
  bool log_balancedness = false;
  std::int32_t log_balancedness_interval = 1;  ///< Steps.
  bool migration_batching_enabled = true;      ///< One peer a rank and batch.

  std::int32_t copy_streams = 2;  ///< Streams that a rank's copies between ranks are dealt to.
  bool batched_copies = true;     ///< One call for a batch of copies, else a call each.
  /// What a rank's copies between ranks may take of its links, so that forwards beside them keep
  /// the rest; in 1e9 bytes a second. Of symm_mem only. None: no limit.
  std::optional<double> copy_rate_limit_gb_per_s = std::nullopt;
  Handshake handshake = Handshake::kStatuses;
  /// Rows on each rank that receive weights before their commit; none: default_landing_rows.
  std::optional<std::int32_t> landing_rows = std::nullopt;
  /// Layers whose transfers run at once, and that commit in one step; none: no limit.
  std::optional<std::int32_t> layers_in_flight = std::nullopt;
  /// Bytes that the busiest rank copies in one step's commits, one layer at least; none: no limit.
  std::optional<std::int64_t> max_commit_bytes_per_step = std::nullopt;
  std::int32_t commit_lead_steps = 2;  ///< Steps that a status has to arrive.
  double deadline_ms = 30000;          ///< After which a wait becomes a failure.
  OnFailure on_failure = OnFailure::kKeepServing;
  std::optional<TriggerOptions> trigger = std::nullopt;  ///< None: all that a policy wants moves.
};

/// Enough for an eighth of a rank's slots over all layers to be on their way at once, so that a
/// rearrangement of a tenth fits with some imbalance; at least one layer's slots, which is the
/// least that a pool may have. Needs a valid shape.
[[nodiscard]] std::int32_t default_landing_rows(const Shape& shape);

/// Slots and ranks of a model under a balancer; without a balancer there are no redundant slots.
[[nodiscard]] Shape shape_of(const ModelOptions& model, const ParallelOptions& parallel,
                             const EplbOptions& eplb);

}  // namespace eplb
