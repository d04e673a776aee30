#include "model_rules.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "models.hpp"
#include "rule.hpp"

namespace eplb::config {
namespace {

constexpr std::string_view kRanks = "parallel.ranks";

/// A load window counts in int32.
constexpr std::int64_t kAssignmentsMax = std::numeric_limits<std::int32_t>::max();

/// A model, and what its key is in the scenario.
struct NamedModel {
  const ModelOptions& model;
  std::string key;

  [[nodiscard]] std::string key_of(std::string_view field) const {
    return key + "." + std::string(field);
  }
};

void check_shape(const NamedModel& named, Reading& reading) {
  const ModelOptions& model = named.model;
  const std::string experts = named.key_of("logical_experts");
  const std::string top_k = named.key_of("top_k");
  const std::string groups = named.key_of("expert_groups");
  rule(model.top_k > model.logical_experts, {top_k, experts},
       at_most("logical_experts", model.logical_experts, model.top_k), reading);
  rule(model.logical_experts % model.expert_groups != 0, {groups, experts},
       "must divide logical_experts, but " + std::to_string(model.logical_experts) + " is not " +
           std::to_string(model.expert_groups) + " equal groups",
       reading);
}

void check_assignments(const NamedModel& named, const sim::Scenario& scenario, Reading& reading) {
  const sim::ServingOptions& serving = scenario.serving;
  std::int32_t ranks = scenario.parallel.ranks;
  for (const ScaleEvent& event : scenario.parallel.scale) {
    ranks = std::max(ranks, event.ranks);
  }
  // Bounds of the schema keep the product below 2^63.
  const std::int64_t assignments = std::int64_t{ranks} * serving.requests_per_rank *
                                   serving.tokens_per_request * named.model.top_k;
  const std::string top_k = named.key_of("top_k");
  joint_rule(
      assignments > kAssignmentsMax,
      {"serving.requests_per_rank", "serving.tokens_per_request", kRanks, "parallel.scale", top_k},
      "a step has " + std::to_string(assignments) +
          " assignments (ranks x requests x tokens x top_k), at most " +
          std::to_string(kAssignmentsMax) + " can be counted",
      reading);
}

void check_arithmetic(const NamedModel& named, const sim::HardwareOptions& hardware,
                      Reading& reading) {
  const WeightFormat format = named.model.weight_format;
  const std::string format_key = named.key_of("weight_format");
  const std::string reason =
      format == WeightFormat::kNvfp4 ? "fp4_tflops and fp8_tflops are both 0" : "fp8_tflops is 0";
  joint_rule(sim::arithmetic_tflops(hardware, format) <= 0,
             {format_key, "hardware.bf16_tflops", "hardware.fp8_tflops", "hardware.fp4_tflops"},
             "the hardware cannot compute with these weights: " + reason, reading);
}

/// What a draft has in common with the target, since they share the ranks' slots (eplb-semantics 1,
/// validate_ep_configuration). Rejected where the scenario names the draft, which is what a person
/// would change, and not in the draft's file.
void check_match(const NamedModel& draft, std::string_view field, std::int32_t got,
                 std::int32_t expected, Reading& reading) {
  const std::string key = draft.key_of(field);
  const std::string target_key = model_key(0) + "." + std::string(field);
  if (got != expected && reading.sound({key, target_key})) {
    reading.reject(reading.position(draft.key), key,
                   "must be that of the first model (" + std::to_string(expected) + "), got " +
                       std::to_string(got));
  }
}

void check_model(const NamedModel& named, const sim::Scenario& scenario, Reading& reading) {
  check_shape(named, reading);
  check_assignments(named, scenario, reading);
  check_arithmetic(named, scenario.hardware, reading);
}

}  // namespace

void check_models(const sim::Scenario& scenario, Reading& reading) {
  const ModelOptions& target = scenario.model;
  check_model({.model = target, .key = model_key(0)}, scenario, reading);
  for (std::size_t index = 0; index < scenario.drafts.size(); ++index) {
    const NamedModel draft{.model = scenario.drafts[index], .key = model_key(index + 1)};
    check_model(draft, scenario, reading);
    check_match(draft, "logical_experts", draft.model.logical_experts, target.logical_experts,
                reading);
    check_match(draft, "expert_groups", draft.model.expert_groups, target.expert_groups, reading);
  }
}

}  // namespace eplb::config
