#include "schema.hpp"

namespace eplb::config {
namespace {

constexpr Range kMilliseconds = {.min = 0, .max = 1e6};
constexpr Range kExponent = {.min = 0, .max = 20};
constexpr Range kFactor = {.min = 1, .max = 1e9, .above_min = true};

constexpr std::array kServingFields = std::to_array<Field<sim::ServingOptions>>({
    {.key = "requests_per_rank",
     .member = kPlace<&sim::ServingOptions::requests_per_rank>,
     .range = {.min = 1, .max = 1 << 20},
     .required = true,
     .help = "Requests that decode on each rank."},
    {.key = "tokens_per_request",
     .member = kPlace<&sim::ServingOptions::tokens_per_request>,
     .range = {.min = 1, .max = 1 << 10},
     .help = "Rows that a request brings to a step: 1 and its draft tokens."},
    {.key = "accepted_tokens",
     .member = kPlace<&sim::ServingOptions::accepted_tokens>,
     .range = {.min = 0, .max = 1 << 10, .above_min = true},
     .help = "Tokens that a request gains in a step; at most tokens_per_request."},
    {.key = "other_kernels_ms.base",
     .member = kPlace<&sim::ServingOptions::other_kernels_base_ms>,
     .unit = "ms",
     .range = kMilliseconds,
     .help = "Time of a step outside its expert layers: the fixed part."},
    {.key = "other_kernels_ms.per_request",
     .member = kPlace<&sim::ServingOptions::other_kernels_per_request_ms>,
     .unit = "ms",
     .range = kMilliseconds,
     .help = "The part of it that each of a rank's requests adds."},
    {.key = "other_kernels_ms.per_prefill_token",
     .member = kPlace<&sim::ServingOptions::other_kernels_per_prefill_token_ms>,
     .unit = "ms",
     .range = kMilliseconds,
     .help = "The part of it that each prefill token of a rank adds."},
    {.key = "rank_imbalance",
     .member = kPlace<&sim::ServingOptions::rank_imbalance>,
     .range = {.min = 0, .max = 10},
     .help = "Standard deviation between ranks of the time that their requests add, as a share of "
             "it: their contexts differ. The first expert layer of a step waits for the last "
             "rank."},
    {.key = "boundary_idle_ms",
     .member = kPlace<&sim::ServingOptions::boundary_idle_ms>,
     .unit = "ms",
     .range = kMilliseconds,
     .help = "How long the device waits for its host between two forwards."},
    {.key = "prefill.mean_tokens",
     .member = kPlace<&sim::ServingOptions::prefill_tokens_mean>,
     .range = {.min = 0, .max = 1 << 20},
     .help = "Rows of prompts on a rank in a step, beside the decoding requests. What a prompt "
             "waits for its first token is not modelled."},
    {.key = "prefill.cv",
     .member = kPlace<&sim::ServingOptions::prefill_tokens_cv>,
     .range = {.min = 0, .max = 10},
     .help = "Their standard deviation over ranks and steps, as a share of the mean; log-normal."},
});

constexpr std::array kWorkloadFields = std::to_array<Field<sim::WorkloadOptions>>({
    {.key = "routing",
     .member = ReadByHand{"a section"},
     .default_help = "kind: uniform",
     .help = "Which experts the rows choose; see the kinds below."},
    {.key = "drift",
     .member = ReadByHand{"a section"},
     .default_help = "kind: none",
     .help = "How that changes while serving; see the kinds below."},
    {.key = "noise",
     .member = kPlace<&sim::WorkloadOptions::noise>,
     .help = "Whether a step's counts are drawn about their expectation or are the expectation."},
});

constexpr std::array kZipfFields = std::to_array<Field<sim::ZipfRouting>>({
    {.key = "exponent",
     .member = kPlace<&sim::ZipfRouting::exponent>,
     .range = kExponent,
     .help = "The i-th most popular expert, from 0, has the weight (i + 1)^-exponent."},
});

constexpr std::array kLognormalFields = std::to_array<Field<sim::LognormalRouting>>({
    {.key = "sigma",
     .member = kPlace<&sim::LognormalRouting::sigma>,
     .range = {.min = 0, .max = 10},
     .help = "An expert has the weight exp(sigma z), z standard normal."},
});

constexpr std::array kPowerLawFields = std::to_array<Field<sim::PowerLawRouting>>({
    {.key = "exponent",
     .member = kPlace<&sim::PowerLawRouting::exponent>,
     .range = kExponent,
     .help = "Weights w have the density w^-exponent on [1, weight_max]."},
    {.key = "weight_max",
     .member = kPlace<&sim::PowerLawRouting::weight_max>,
     .range = kFactor,
     .help = "The largest weight there can be."},
});

constexpr std::array kCountsFields = std::to_array<Field<sim::CountsRouting>>({
    {.key = "file",
     .member = kPlace<&sim::CountsRouting::file>,
     .required = true,
     .help = "JSON with `logical_count`: [layers][experts] or [windows][layers][experts]."},
    {.key = "steps_per_window",
     .member = kPlace<&sim::CountsRouting::steps_per_window>,
     .unit = "steps",
     .range = kSteps,
     .help = "How long each window's distribution holds; after the last comes the first."},
});

constexpr std::array kDomainsFields = std::to_array<Field<sim::DomainsRouting>>({
    {.key = "file",
     .member = kPlace<&sim::DomainsRouting::file>,
     .required = true,
     .help = "JSON with `domains`: a name each and counts [layers][experts]."},
    {.key = "schedule",
     .member = ReadByHand{"a list of phases"},
     .required = true,
     .help = "How the domains are mixed, phase by phase; after the last comes the first."},
});

constexpr std::array kPhaseFields = std::to_array<Field<sim::DomainsRouting::Phase>>({
    {.key = "steps",
     .member = kPlace<&sim::DomainsRouting::Phase::steps>,
     .unit = "steps",
     .range = kSteps,
     .required = true,
     .help = "How long the phase lasts."},
    {.key = "mix",
     .member = ReadByHand{"a mapping from domains to shares"},
     .required = true,
     .help = "Shares of the tokens, as in `{code: 3, prose: 1}`; they need not sum to 1."},
});

constexpr std::array kWalkFields = std::to_array<Field<sim::WalkDrift>>({
    {.key = "correlation_steps",
     .member = kPlace<&sim::WalkDrift::correlation_steps>,
     .unit = "steps",
     .range = kSteps,
     .help = "Steps over which the correlation of the log weights falls to 1/e."},
});

constexpr std::array kSwitchFields = std::to_array<Field<sim::SwitchDrift>>({
    {.key = "every_steps",
     .member = kPlace<&sim::SwitchDrift::every_steps>,
     .unit = "steps",
     .range = kSteps,
     .help = "Steps after which the weights of a layer are dealt to its experts anew."},
});

constexpr std::array kBurstFields = std::to_array<Field<sim::BurstDrift>>({
    {.key = "every_steps",
     .member = kPlace<&sim::BurstDrift::every_steps>,
     .unit = "steps",
     .range = kSteps,
     .help = "Steps from the start of one burst to the next; each picks one expert a layer."},
    {.key = "duration_steps",
     .member = kPlace<&sim::BurstDrift::duration_steps>,
     .unit = "steps",
     .range = kSteps,
     .help = "How long a burst lasts; at most every_steps."},
    {.key = "factor",
     .member = kPlace<&sim::BurstDrift::factor>,
     .range = kFactor,
     .help = "How much more popular the expert is meanwhile."},
});

constexpr std::array kRunFields = std::to_array<Field<sim::RunOptions>>({
    {.key = "steps",
     .member = kPlace<&sim::RunOptions::steps>,
     .unit = "steps",
     .range = kSteps,
     .help = "Forwards to simulate."},
    {.key = "warmup_steps",
     .member = kPlace<&sim::RunOptions::warmup_steps>,
     .unit = "steps",
     .range = {.min = 0, .max = kStepsMax},
     .help = "The first of them, which count in no mean and no sum: to see how a group serves that "
             "has rearranged already. Must be below steps."},
    {.key = "seed",
     .member = kPlace<&sim::RunOptions::seed>,
     .help = "Of all random numbers; the same seed gives the same run."},
    {.key = "compare_off",
     .member = kPlace<&sim::RunOptions::compare_off>,
     .help = "Also run without EPLB, under the same random numbers."},
});

}  // namespace

Fields<sim::ServingOptions> serving_fields() {
  return kServingFields;
}

Fields<sim::WorkloadOptions> workload_fields() {
  return kWorkloadFields;
}

Fields<sim::RunOptions> run_fields() {
  return kRunFields;
}

Fields<sim::DomainsRouting::Phase> phase_fields() {
  return kPhaseFields;
}

RoutingKinds routing_kinds() {
  return {{.name = "uniform", .fields = {}, .help = "Every expert alike."},
          {.name = "zipf", .fields = kZipfFields, .help = "Weights by popularity rank."},
          {.name = "lognormal", .fields = kLognormalFields, .help = "Weights drawn, log-normal."},
          {.name = "power_law", .fields = kPowerLawFields, .help = "Weights drawn, heavy-tailed."},
          {.name = "counts", .fields = kCountsFields, .help = "Measured counts, window by window."},
          {.name = "domains",
           .fields = kDomainsFields,
           .help = "Measured counts of several kinds of text, mixed by a schedule."}};
}

DriftKinds drift_kinds() {
  return {{.name = "none", .fields = {}, .help = "The routing as it is."},
          {.name = "walk", .fields = kWalkFields, .help = "Popularity wanders."},
          {.name = "switch", .fields = kSwitchFields, .help = "Popularity is dealt anew."},
          {.name = "burst", .fields = kBurstFields, .help = "One expert a layer is in demand."}};
}

}  // namespace eplb::config
