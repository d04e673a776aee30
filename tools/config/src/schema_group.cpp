#include "eplb/core/option_rules.hpp"
#include "schema.hpp"

namespace eplb::config {
namespace {

constexpr Range kRanks = {.min = 1, .max = kMaxRanks};

constexpr std::array kParallelFields = std::to_array<Field<ParallelOptions>>({
    {.key = "ranks",
     .member = kPlace<&ParallelOptions::ranks>,
     .range = kRanks,
     .required = true,
     .help = "Members of the expert-parallel group. They must divide the slots: logical_experts + "
             "num_redundant_experts."},
    {.key = "ranks_per_node",
     .member = kPlace<&ParallelOptions::ranks_per_node>,
     .range = kRanks,
     .default_help = "the hardware's gpus_per_node",
     .help = "Ranks that share a host; at most gpus_per_node."},
    {.key = "ranks_per_gpu",
     .member = kPlace<&ParallelOptions::ranks_per_gpu>,
     .range = {.min = 1, .max = 64},
     .help = "Ranks that share a GPU in `eplb run`, as threads of one process with its "
             "multiprocessors divided; must divide ranks. The simulator gives each a GPU."},
    {.key = "data_parallel",
     .member = kPlace<&ParallelOptions::data_parallel>,
     .range = kRanks,
     .default_help = "ranks",
     .help = "Ranks that serve requests of their own; must divide ranks."},
    {.key = "pipeline_stages",
     .member = kPlace<&ParallelOptions::pipeline_stages>,
     .range = {.min = 1, .max = 1 << 10},
     .help = "Each has an EP group of `ranks` and a share of the layers, perhaps none."},
    {.key = "scale",
     .member = ReadByHand{"a list of entries"},
     .default_help = "[]",
     .help =
         "How the group grows and shrinks while it serves, by step; see below. A rank keeps its "
         "slots, so redundancy follows the ranks. Needs EPLB and one pipeline stage; takes no "
         "drafts and no symm_mem; serving while weights move needs nixl."},
});

constexpr std::array kScaleFields = std::to_array<Field<ScaleEvent>>({
    {.key = "at_step",
     .member = kPlace<&ScaleEvent::at_step>,
     .unit = "steps",
     .range = kSteps,
     .required = true,
     .help = "After so many steps; above that of the entry before, below run.steps."},
    {.key = "ranks",
     .member = kPlace<&ScaleEvent::ranks>,
     .range = {.min = 2, .max = kMaxRanks},
     .required = true,
     .help = "Members from then on. Their slots must hold every expert, and at most 1023 more."},
});

constexpr auto kAll2alls = std::to_array<std::string_view>(
    {"naive", "allgather_reducescatter", "pplx", "deepep_high_throughput", "deepep_low_latency",
     "flashinfer_all2allv", "nixl_ep", "mori"});

constexpr auto kMoeBackends = std::to_array<std::string_view>(
    {"auto", "deep_gemm_mega_moe", "deep_gemm", "triton", "cutlass", "flashinfer_trtllm",
     "flashinfer_cutlass", "flashinfer_cutedsl", "marlin", "aiter"});

constexpr std::array kEngineFields = std::to_array<Field<EngineOptions>>({
    {.key = "all2all",
     .member = Word<EngineOptions>{&EngineOptions::all2all, kAll2alls},
     .help = "vLLM's all2all backend. `deepep_low_latency` can lock up with NCCL."},
    {.key = "moe_backend",
     .member = Word<EngineOptions>{&EngineOptions::moe_backend, kMoeBackends},
     .help = "vLLM's MoE backend. `deep_gemm_mega_moe` can lock up with NCCL."},
    {.key = "nccl_max_ctas",
     .member = kPlace<&EngineOptions::nccl_max_ctas>,
     .help =
         "The user's NCCL_MAX_CTAS; empty if not set. Where NCCL can lock up, a positive number "
         "is kept, and anything else becomes 8."},
    {.key = "nixl",
     .member = kPlace<&EngineOptions::nixl>,
     .help = "Whether NIXL is installed; the communicator is then nixl by default."},
    {.key = "moe_sms",
     .member = kPlace<&EngineOptions::moe_sms>,
     .range = {.min = 1, .max = 1 << 12},
     .default_help = "all",
     .help =
         "SMs that a cooperative expert kernel takes. NCCL can run beside it only on the rest."},
    {.key = "nixl_path",
     .member = kPlace<&EngineOptions::nixl_path>,
     .help =
         "The way that NIXL's reads take. `auto` is what it was seen to choose: NVLink within a "
         "node, the network between nodes. `nvlink` is NVLink within a domain; `tcp` is what "
         "it falls back to without RDMA."},
    {.key = "host_collectives",
     .member = kPlace<&EngineOptions::host_collectives>,
     .help = "How the hosts sum up the load, and wait for each other in eplb.handshake `barriers`: "
             "over a board in each host and a tree between hosts, "
             "over a tree of all ranks, or over gloo's ring."},
    {.key = "load_counting",
     .member = kPlace<&EngineOptions::load_counting>,
     .help = "What a forward is charged for counting: by logical expert, by slot, or both. The "
             "window is by logical expert in any case."},
    {.key = "replica_mapping",
     .member = kPlace<&EngineOptions::replica_mapping>,
     .help = "Whether rows are mapped and counted in the staging kernel, or by a kernel of their "
             "own with an atomic a pick."},
    {.key = "readiness_all_reduce",
     .member = kPlace<&EngineOptions::readiness_all_reduce>,
     .help = "Whether hosts agree on a flag before each step, by host_collectives, and wait for "
             "it: what engines do that have no other way to learn that weights have landed."},
});

}  // namespace

Fields<ParallelOptions> parallel_fields() {
  return kParallelFields;
}

Fields<ScaleEvent> scale_fields() {
  return kScaleFields;
}

Fields<EngineOptions> engine_fields() {
  return kEngineFields;
}

}  // namespace eplb::config
