#include "rules.hpp"

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <variant>

#include "eplb/core/shape.hpp"
#include "words.hpp"

namespace eplb::config {
namespace {

constexpr std::string_view kExperts = "model.logical_experts";
constexpr std::string_view kRanks = "parallel.ranks";
constexpr std::string_view kRanksPerNode = "parallel.ranks_per_node";
constexpr std::string_view kEnabled = "eplb.enabled";
constexpr std::string_view kRedundancy = "eplb.num_redundant_experts";
constexpr std::string_view kWindowSize = "eplb.window_size";
constexpr std::string_view kWindowParts = "eplb.window_parts";
constexpr std::string_view kHistoryParts = "eplb.history_parts";

/// What a scenario may take of memory in a single kind of table.
constexpr double kBytesMax = 8e9;
/// A load window counts in int32.
constexpr std::int64_t kAssignmentsMax = std::numeric_limits<std::int32_t>::max();

using Keys = std::initializer_list<std::string_view>;

/// If it is broken and all keys are sound: rejects the first of them, which the message is about,
/// at the place of the one that was written last.
void rule(bool broken, Keys keys, const std::string& message, Reading& reading) {
  if (broken && reading.sound(keys)) {
    reading.reject(reading.latest(keys).at, *keys.begin(), message);
  }
}

/// A rule whose message is about all keys alike: rejects the one that was written last.
void joint_rule(bool broken, Keys keys, const std::string& message, Reading& reading) {
  if (broken && reading.sound(keys)) {
    const WrittenKey last = reading.latest(keys);
    reading.reject(last.at, last.key, message);
  }
}

std::string at_most(std::string_view key, std::int64_t allowed, std::int64_t got) {
  return "must be at most " + std::string(key) + " (" + std::to_string(allowed) + "), got " +
         std::to_string(got);
}

void check_model(const ModelOptions& model, Reading& reading) {
  rule(model.top_k > model.logical_experts, {"model.top_k", kExperts},
       at_most("logical_experts", model.logical_experts, model.top_k), reading);
  rule(model.logical_experts % model.expert_groups != 0, {"model.expert_groups", kExperts},
       "must divide logical_experts, but " + std::to_string(model.logical_experts) + " is not " +
           std::to_string(model.expert_groups) + " equal groups",
       reading);
}

std::string redundancy_advice(const Shape& shape, bool eplb_enabled) {
  if (!eplb_enabled) {
    return "; without EPLB the ranks must divide the experts";
  }
  const std::int32_t nearest_legal = nearest_legal_redundancy(shape);
  if (nearest_legal > kMaxRedundantSlots) {
    return "; no legal redundancy does";
  }
  return "; the nearest legal redundancy is " + std::to_string(nearest_legal);
}

void check_parallel(const sim::Scenario& scenario, Reading& reading) {
  const ParallelOptions& parallel = scenario.parallel;
  if (!reading.sound({kRanks, kEnabled})) {
    return;
  }
  const Shape shape = shape_of(scenario.model, parallel, scenario.eplb);
  rule(scenario.eplb.enabled && parallel.ranks == 1, {kRanks, kEnabled},
       "one rank has nothing to balance; use more ranks or set eplb.enabled to false", reading);
  joint_rule(shape.slot_count() % parallel.ranks != 0, {kRedundancy, kExperts, kRanks},
             std::to_string(shape.expert_count) + " experts + " +
                 std::to_string(shape.redundant_slot_count) + " redundant do not divide over " +
                 std::to_string(parallel.ranks) + " ranks" +
                 redundancy_advice(shape, scenario.eplb.enabled),
             reading);
  rule(parallel.ranks_per_node > scenario.hardware.gpus_per_node,
       {kRanksPerNode, "hardware.gpus_per_node"},
       at_most("hardware.gpus_per_node", scenario.hardware.gpus_per_node, parallel.ranks_per_node),
       reading);
}

void check_serving(const sim::Scenario& scenario, Reading& reading) {
  const sim::ServingOptions& serving = scenario.serving;
  rule(serving.accepted_tokens > serving.tokens_per_request,
       {"serving.accepted_tokens", "serving.tokens_per_request"},
       "must be at most tokens_per_request (" + std::to_string(serving.tokens_per_request) +
           "), got " + number_text(serving.accepted_tokens),
       reading);
  // Bounds of the schema keep the product below 2^63.
  const std::int64_t assignments = std::int64_t{scenario.parallel.ranks} *
                                   serving.requests_per_rank * serving.tokens_per_request *
                                   scenario.model.top_k;
  joint_rule(assignments > kAssignmentsMax,
             {"serving.requests_per_rank", "serving.tokens_per_request", kRanks, "model.top_k"},
             "a step has " + std::to_string(assignments) +
                 " assignments (ranks x requests x tokens x top_k), at most " +
                 std::to_string(kAssignmentsMax) + " can be counted",
             reading);
}

void check_arithmetic(const sim::Scenario& scenario, Reading& reading) {
  const WeightFormat format = scenario.model.weight_format;
  const std::string reason =
      format == WeightFormat::kNvfp4 ? "fp4_tflops and fp8_tflops are both 0" : "fp8_tflops is 0";
  joint_rule(
      sim::arithmetic_tflops(scenario.hardware, format) <= 0,
      {"model.weight_format", "hardware.bf16_tflops", "hardware.fp8_tflops", "hardware.fp4_tflops"},
      "the hardware cannot compute with these weights: " + reason, reading);
}

void check_drift(const sim::WorkloadOptions& workload, Reading& reading) {
  if (const auto* burst = std::get_if<sim::BurstDrift>(&workload.drift)) {
    rule(burst->duration_steps > burst->every_steps,
         {"workload.drift.duration_steps", "workload.drift.every_steps"},
         at_most("every_steps", burst->every_steps, burst->duration_steps), reading);
  }
}

void check_window(const EplbOptions& eplb, Reading& reading) {
  rule(eplb.window_parts > eplb.window_size, {kWindowParts, kWindowSize},
       at_most("window_size", eplb.window_size, eplb.window_parts), reading);
  rule(eplb.window_parts > eplb.history_parts, {kWindowParts, kHistoryParts},
       at_most("history_parts", eplb.history_parts, eplb.window_parts), reading);
}

std::string gigabytes(double bytes) {
  return number_text(std::round(bytes / 1e8) / 10) + " GB";
}

/// Refuses what would exhaust memory: the window's ring and the parts shown to a policy (core), and
/// the layer maps, whose width grows with the redundancy.
void check_memory(const sim::Scenario& scenario, Reading& reading) {
  if (!reading.sound({kEnabled})) {
    return;
  }
  const Shape shape = shape_of(scenario.model, scenario.parallel, scenario.eplb);
  const double cells = static_cast<double>(shape.layer_count) * shape.expert_count;
  const double window_bytes =
      cells * (4.0 * scenario.eplb.window_size + 8.0 * scenario.eplb.history_parts);
  const double map_bytes = cells * 4.0 * (shape.redundant_slot_count + 2);
  joint_rule(scenario.eplb.enabled && window_bytes > kBytesMax,
             {kWindowSize, kHistoryParts, kExperts, "model.moe_layers"},
             "the load window would take " + gigabytes(window_bytes) + ", at most " +
                 gigabytes(kBytesMax) + " is allowed; use a smaller window_size or history_parts",
             reading);
  joint_rule(map_bytes > kBytesMax, {kRedundancy, kExperts, "model.moe_layers"},
             "the layer maps would take " + gigabytes(map_bytes) + ", at most " +
                 gigabytes(kBytesMax) + " is allowed; use fewer redundant experts",
             reading);
}

void add_notes(const sim::Scenario& scenario, Reading& reading) {
  const EplbOptions& eplb = scenario.eplb;
  if (!eplb.enabled && eplb.num_redundant_experts > 0) {
    reading.note("eplb.enabled is false, so eplb.num_redundant_experts counts as 0");
  }
  const ParallelOptions& parallel = scenario.parallel;
  const bool ragged = parallel.ranks % parallel.ranks_per_node != 0;
  if (eplb.enabled && scenario.model.expert_groups > 1 && ragged) {
    reading.note(
        "parallel.ranks_per_node does not divide parallel.ranks, so a hierarchical policy "
        "places the groups of the model as if all ranks shared one node");
  }
}

}  // namespace

void check_rules(const sim::Scenario& scenario, Reading& reading) {
  check_model(scenario.model, reading);
  check_parallel(scenario, reading);
  check_serving(scenario, reading);
  check_arithmetic(scenario, reading);
  check_drift(scenario.workload, reading);
  check_window(scenario.eplb, reading);
  check_memory(scenario, reading);
  if (reading.clean()) {
    add_notes(scenario, reading);
  }
}

}  // namespace eplb::config
