#include "eplb/core/option_rules.hpp"
#include "eplb/core/shape.hpp"
#include "schema.hpp"

namespace eplb::config {
namespace {

constexpr Range kLayersInFlight = {.min = 1, .max = 1 << 10};
constexpr Range kCommitBytes = {.min = 1, .max = 1e12};

constexpr std::array kEplbFields = std::to_array<Field<EplbOptions>>({
    {.key = "enabled",
     .member = kPlace<&EplbOptions::enabled>,
     .help = "Whether to balance at all; without, num_redundant_experts counts as 0."},
    {.key = "num_redundant_experts",
     .member = kPlace<&EplbOptions::num_redundant_experts>,
     .range = {.min = 0, .max = kMaxRedundantSlots},
     .help = "Slots a layer beyond one for each expert."},
    {.key = "window_size",
     .member = kPlace<&EplbOptions::window_size>,
     .unit = "steps",
     .range = kSteps,
     .help = "Recorded steps that the load window holds."},
    {.key = "step_interval",
     .member = kPlace<&EplbOptions::step_interval>,
     .unit = "steps",
     .range = kSteps,
     .help = "Steps from one rearrangement to the next; the first comes after a quarter of them."},
    {.key = "use_async",
     .member = kPlace<&EplbOptions::use_async>,
     .help = "Serve while weights move; else hold until they have."},
    {.key = "policy",
     .member = kPlace<&EplbOptions::policy>,
     .help =
         "The policy that places experts; one that this program has, with options behind its name "
         "if wished: robust:price=0.001 (docs/policies.md)."},
    {.key = "replica_choice",
     .member = kPlace<&EplbOptions::replica_choice>,
     .help = "How a row picks one of its expert's replicas: vLLM's hash of the row, or ours over "
             "rows and ranks, or by shares that are learnt with each plan; `exact` is the best "
             "split of every forward's own counts, to compare with, and the simulator's alone; "
             "`nearest` takes those in the row's own NVLink domain if there are any, evenly."},
    {.key = "window_parts",
     .member = kPlace<&EplbOptions::window_parts>,
     .range = {.min = 1, .max = 1 << 10},
     .help = "Sums that the window is read out as; at most window_size and history_parts."},
    {.key = "history_parts",
     .member = kPlace<&EplbOptions::history_parts>,
     .range = {.min = 1, .max = 1 << 10},
     .help = "Newest of these sums that a policy is shown, over several windows."},
    {.key = "window_half_life_steps",
     .member = kPlace<&EplbOptions::window_half_life_steps>,
     .unit = "steps",
     .range = {.min = 0, .max = kStepsMax, .above_min = true},
     .help = "Age at which a recorded step counts half."},
    {.key = "communicator",
     .member = kPlace<&EplbOptions::communicator>,
     .help =
         "What brings rows across ranks. `auto` is nixl if engine.nixl, else pynccl in an elastic "
         "group, else symm_mem in one NVLink domain, else torch_gloo. torch_nccl and pynccl need "
         "use_async to be false."},
    {.key = "log_balancedness",
     .member = kPlace<&EplbOptions::log_balancedness>,
     .help = "Whether to log how balanced the ranks are."},
    {.key = "log_balancedness_interval",
     .member = kPlace<&EplbOptions::log_balancedness_interval>,
     .unit = "steps",
     .range = kSteps,
     .help = "Steps from one such entry to the next."},
    {.key = "migration_batching_enabled",
     .member = kPlace<&EplbOptions::migration_batching_enabled>,
     .help = "Whether a layer's transfers go in batches in which a rank has one peer."},
    {.key = "copy_streams",
     .member = kPlace<&EplbOptions::copy_streams>,
     .range = {.min = 1, .max = 16},
     .help = "Streams that a rank's copies between ranks are dealt to: while one copy starts, "
             "another flows."},
    {.key = "batched_copies",
     .member = kPlace<&EplbOptions::batched_copies>,
     .help = "Whether a batch of copies is one call, else every tensor is a call."},
    {.key = "copy_rate_limit_gb_per_s",
     .member = kPlace<&EplbOptions::copy_rate_limit_gb_per_s>,
     .unit = "GB/s",
     .range = {.min = 0, .max = kMaxCopyRateGbPerS, .above_min = true},
     .help = "What a rank's copies between ranks may take of its links, so that forwards keep the "
             "rest; of symm_mem only."},
    {.key = "handshake",
     .member = kPlace<&EplbOptions::handshake>,
     .help = "How ranks learn that landing rows are free and that rows have landed: by the "
             "statuses that they post anyway, or by vLLM's two barriers of the hosts, which are of "
             "symm_mem only."},
    {.key = "landing_rows",
     .member = kPlace<&EplbOptions::landing_rows>,
     .range = {.min = 1, .max = 1 << 24},
     .default_help = "an eighth of a rank's slots in all layers, at least a layer's",
     .help =
         "Rows on each rank that receive weights before their commit; at least the slots that a "
         "rank has in a layer."},
    {.key = "layers_in_flight",
     .member = kPlace<&EplbOptions::layers_in_flight>,
     .range = kLayersInFlight,
     .help = "Layers whose transfers run at once, and that commit in one step; 1 is vLLM's way."},
    {.key = "max_commit_bytes_per_step",
     .member = kPlace<&EplbOptions::max_commit_bytes_per_step>,
     .unit = "bytes",
     .range = kCommitBytes,
     .help = "What the busiest rank copies in one step's commits, one layer at least."},
    {.key = "commit_lead_steps",
     .member = kPlace<&EplbOptions::commit_lead_steps>,
     .unit = "steps",
     .range = {.min = 0, .max = kMaxCommitLeadSteps},
     .help = "Steps that a status has to arrive; one that is later makes a rank hold."},
    {.key = "deadline_ms",
     .member = kPlace<&EplbOptions::deadline_ms>,
     .unit = "ms",
     .range = {.min = 0, .max = kMaxDeadlineMs, .above_min = true},
     .help = "After which a wait becomes a failure."},
    {.key = "on_failure",
     .member = kPlace<&EplbOptions::on_failure>,
     .help = "Whether a migration that fails is given up on all ranks and tried again later, or "
             "raises the same error on every rank, as vLLM does."},
    {.key = "trigger",
     .member = ReadByHand{"a mapping"},
     .default_help = "none",
     .help = "Lets a layer migrate only if it pays; see below. An empty mapping is a trigger with "
             "its defaults; without one all that the policy wants moves."},
});

constexpr std::array kTriggerFields = std::to_array<Field<TriggerOptions>>({
    {.key = "horizon_steps",
     .member = kPlace<&TriggerOptions::horizon_steps>,
     .unit = "steps",
     .range = kSteps,
     .default_help = "step_interval",
     .help = "For how long a gain is taken to last."},
    {.key = "price",
     .member = kPlace<&TriggerOptions::price>,
     .range = {.min = 0, .max = kMaxTriggerPrice},
     .help = "Factor on what the hardware's figures say a migration costs; 0: nothing."},
    {.key = "hysteresis",
     .member = kPlace<&TriggerOptions::hysteresis>,
     .range = {.min = 0, .max = 1},
     .help = "Share of a layer's time that a gain must exceed; only what is beyond it counts."},
    {.key = "cool_down",
     .member = kPlace<&TriggerOptions::cool_down>,
     .range = {.min = 0, .max = kStepsMax},
     .help = "Rearrangements for which a layer that has moved stays as it is."},
});

}  // namespace

Fields<EplbOptions> eplb_fields() {
  return kEplbFields;
}

Fields<TriggerOptions> trigger_fields() {
  return kTriggerFields;
}

}  // namespace eplb::config
