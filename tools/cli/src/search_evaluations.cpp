#include "search_evaluations.hpp"

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>

namespace eplb::cli {

Measured measured_of(const sim::SimulationResult& result) {
  double moved_bytes = 0;
  for (const sim::RearrangementReport& report : result.rearrangements) {
    moved_bytes += static_cast<double>(report.rearrangement.moved_bytes);
  }
  const sim::MemoryUse& memory = result.memory;
  return {result.throughput_tokens_per_s, result.step.p99_ms,
          static_cast<double>(memory.weights_bytes + memory.landing_bytes + memory.maps_bytes),
          moved_bytes};
}

double value_of(const Measured& measured, placement::SearchObjective objective) {
  const auto* const found = std::ranges::find(kObjectives, objective);
  return measured[static_cast<std::size_t>(found - kObjectives.begin())];
}

nlohmann::ordered_json evaluation_json(const Evaluation& evaluation) {
  nlohmann::ordered_json json;
  if (!evaluation) {
    json["failure"] = evaluation.error();
    return json;
  }
  for (std::size_t index = 0; index < kObjectives.size(); ++index) {
    json[std::string(to_string(kObjectives[index]))] = (*evaluation)[index];
  }
  return json;
}

Result<Evaluation> read_evaluation(const nlohmann::ordered_json& json) {
  if (const auto failure = json.find("failure"); failure != json.end() && failure->is_string()) {
    return Evaluation(tl::unexpected(failure->get<std::string>()));
  }
  Measured measured{};
  for (std::size_t index = 0; index < kObjectives.size(); ++index) {
    const std::string name(to_string(kObjectives[index]));
    const auto value = json.find(name);
    if (value == json.end() || !value->is_number()) {
      return fail(ErrorCode::kInvalidArgument, name + ": must be a number");
    }
    measured[index] = value->get<double>();
  }
  return Evaluation(measured);
}

}  // namespace eplb::cli
