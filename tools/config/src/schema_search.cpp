#include "schema.hpp"

namespace eplb::config {
namespace {

using placement::SearchOptions;

constexpr Range kSeeds = {.min = 1, .max = 1000};

constexpr std::array kSearchFields = std::to_array<Field<SearchOptions>>({
    {.key = "axes",
     .member = ReadByHand{"a mapping from keys to their values"},
     .required = true,
     .help = "What is varied: any key that `--set` takes, a key of `eplb` without its section, "
             "`redundancy` for num_redundant_experts, `policy.OPTION` for an option of the "
             "policies that have it, `price` for policy.price. Each has a list of values or a "
             "range, see below."},
    {.key = "objectives",
     .member = ReadByHand{"a list of throughput, p99_step, memory, moved_bytes"},
     .default_help = "[throughput, p99_step, memory, moved_bytes]",
     .help = "What settings are judged by: accepted tokens/s (more is better); of the others less "
             "is: the 99th percentile of step times, bytes on each rank (weights, landing rows, "
             "maps), and bytes that all rearrangements of a run move. The first decides where "
             "another has to."},
    {.key = "method",
     .member = kPlace<&SearchOptions::method>,
     .help = "Every setting, some that are drawn, or many on few seeds and of them the better ones "
             "on more."},
    {.key = "budget.candidates",
     .member = kPlace<&SearchOptions::candidates>,
     .range = {.min = 1, .max = 10'000},
     .help = "Settings to draw; of fewer than that all are taken. Not of a grid, which takes all."},
    {.key = "budget.seeds",
     .member = kPlace<&SearchOptions::seeds>,
     .range = kSeeds,
     .help = "Runs of each candidate, from run.seed on, the same for all; in a last rung, which "
             "others have `keep` times fewer than the next."},
    {.key = "budget.confirm_seeds",
     .member = kPlace<&SearchOptions::confirm_seeds>,
     .range = {.min = 0, .max = 1000},
     .help = "Runs of the front on fresh seeds, which have had no part in choosing it: what is "
             "said about how sure a gain is rests on them. Without, on the seeds that chose."},
    {.key = "budget.rungs",
     .member = kPlace<&SearchOptions::rungs>,
     .range = {.min = 1, .max = 16},
     .help = "Rounds of successive halving."},
    {.key = "budget.keep",
     .member = kPlace<&SearchOptions::keep>,
     .range = {.min = 0, .max = 1, .above_min = true},
     .help = "Share of candidates that goes on from one rung to the next."},
    {.key = "budget.rung_steps",
     .member = kPlace<&SearchOptions::rung_steps>,
     .unit = "steps",
     .range = kSteps,
     .default_help = "run.steps in each",
     .help = "Steps of a run in each rung of successive halving; as many as there are rungs, none "
             "below the one before, all above run.warmup_steps."},
});

constexpr Range kAnyNumber = {.min = -1e15, .max = 1e15};

constexpr std::array kAxisRangeFields = std::to_array<Field<AxisRange>>({
    {.key = "from",
     .member = kPlace<&AxisRange::from>,
     .range = kAnyNumber,
     .required = true,
     .help = "The first value."},
    {.key = "to",
     .member = kPlace<&AxisRange::to>,
     .range = kAnyNumber,
     .required = true,
     .help = "The last value is this one, or the last before it."},
    {.key = "step",
     .member = kPlace<&AxisRange::step>,
     .range = {.min = 0, .max = 1e15, .above_min = true},
     .help = "What each value is above the one before; or instead"},
    {.key = "factor",
     .member = kPlace<&AxisRange::factor>,
     .range = {.min = 1, .max = 1e15, .above_min = true},
     .help = "by what each is a multiple of it. One of the two is needed."},
});

}  // namespace

Fields<SearchOptions> search_fields() {
  return kSearchFields;
}

Fields<AxisRange> axis_range_fields() {
  return kAxisRangeFields;
}

}  // namespace eplb::config
