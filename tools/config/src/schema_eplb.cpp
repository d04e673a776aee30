#include "eplb/core/shape.hpp"
#include "schema.hpp"

namespace eplb::config {
namespace {

constexpr std::array kEplbFields = std::to_array<Field<EplbOptions>>({
    {.key = "enabled",
     .member = &EplbOptions::enabled,
     .help = "Whether to balance at all; without, num_redundant_experts counts as 0."},
    {.key = "num_redundant_experts",
     .member = &EplbOptions::num_redundant_experts,
     .range = {.min = 0, .max = kMaxRedundantSlots},
     .help = "Slots a layer beyond one for each expert."},
    {.key = "window_size",
     .member = &EplbOptions::window_size,
     .unit = "steps",
     .range = kSteps,
     .help = "Recorded steps that the load window holds."},
    {.key = "step_interval",
     .member = &EplbOptions::step_interval,
     .unit = "steps",
     .range = kSteps,
     .help = "Steps from one rearrangement to the next; the first comes after a quarter of them."},
    {.key = "use_async",
     .member = &EplbOptions::use_async,
     .help = "Serve while weights move; else hold until they have."},
    {.key = "policy",
     .member = &EplbOptions::policy,
     .help = "The policy that places experts; one that this program has."},
    {.key = "replica_choice",
     .member = &EplbOptions::replica_choice,
     .help = "How a row picks one of its expert's replicas: vLLM's hash of the row, or ours over "
             "rows and ranks."},
    {.key = "window_parts",
     .member = &EplbOptions::window_parts,
     .range = {.min = 1, .max = 1 << 10},
     .help = "Sums that the window is read out as; at most window_size and history_parts."},
    {.key = "history_parts",
     .member = &EplbOptions::history_parts,
     .range = {.min = 1, .max = 1 << 10},
     .help = "Newest of these sums that a policy is shown, over several windows."},
    {.key = "window_half_life_steps",
     .member = &EplbOptions::window_half_life_steps,
     .unit = "steps",
     .range = {.min = 0, .max = kStepsMax, .above_min = true},
     .help = "Age at which a recorded step counts half."},
});

}  // namespace

Fields<EplbOptions> eplb_fields() {
  return kEplbFields;
}

}  // namespace eplb::config
