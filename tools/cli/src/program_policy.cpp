#include "program_policy.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "eplb/formats/placements.hpp"
#include "eplb/placement/policy_options.hpp"

namespace eplb::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kPatienceMaxS = 3600;

Json json_of(const RealLoadMatrix& load) {
  Json layers = Json::array();
  for (Eigen::Index layer = 0; layer < load.rows(); ++layer) {
    const auto row = load.row(layer);
    layers.push_back(std::vector<double>(row.begin(), row.end()));
  }
  return layers;
}

Json json_of(const Placement& placement) {
  Json layers = Json::array();
  for (const LayerPlacement& layer : placement.layers()) {
    Json slots = Json::array();
    for (const LogicalExpertId expert : layer.occupants()) {
      slots.push_back(expert.value);
    }
    layers.push_back(std::move(slots));
  }
  return layers;
}

std::string request_text(const PolicyProblem& problem, std::int64_t number) {
  const Shape& shape = problem.shape;
  Json request;
  request["schema"] = "eplb.policy/1";
  request["request"] = number;
  request["shape"] = {{"layers", shape.layer_count},
                      {"experts", shape.expert_count},
                      {"slots", shape.slot_count()},
                      {"ranks", shape.rank_count},
                      {"nodes", problem.topology.packing_node_count()},
                      {"expert_groups", shape.expert_group_count}};
  request["window_parts"] = problem.window_part_count;
  request["window_steps"] = problem.window_steps;
  request["history"] = Json::array();
  for (const RealLoadMatrix& part : problem.history) {
    request["history"].push_back(json_of(part));
  }
  request["current"] = problem.current != nullptr ? json_of(*problem.current) : Json(nullptr);
  request["move_ns_per_expert"] = problem.costs.move_ns_per_expert;
  return request.dump();
}

/// What a program gives as its reason not to answer; empty if it is no such line.
std::string refusal_of(const std::string& answer) {
  const Json json = Json::parse(answer, nullptr, false);
  return json.is_object() && json.contains("error") && json["error"].is_string()
             ? json["error"].get<std::string>()
             : std::string();
}

}  // namespace

Result<Placement> ProgramPolicy::place(const PolicyProblem& problem) const {
  const std::lock_guard lock(mutex_);
  if (auto valid = validate(problem.shape); !valid) {
    return tl::unexpected(valid.error());
  }
  auto placed = ask(problem);
  if (!placed) {
    program_.reset();
    return fail(placed.error().code, fmt::format("policy {}: {}", kName, placed.error().message));
  }
  return placed;
}

Result<Placement> ProgramPolicy::ask(const PolicyProblem& problem) const {
  if (program_ == nullptr) {
    auto started = LineProgram::start(options_.words);
    if (!started) {
      return tl::unexpected(started.error());
    }
    program_ = *std::move(started);
  }
  const auto answer = program_->ask(request_text(problem, request_count_++), options_.patience);
  if (!answer) {
    return tl::unexpected(answer.error());
  }
  if (const std::string reason = refusal_of(*answer); !reason.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} refuses: {}", options_.words.front(), reason));
  }
  return formats::parse_placement(*answer, fmt::format("answer of {}", options_.words.front()),
                                  problem.shape);
}

Result<ProgramPolicy::Options> parse_program(std::string_view text) {
  const std::size_t comma = std::min(text.find(','), text.size());
  ProgramPolicy::Options options;
  std::string_view command = text.substr(0, comma);
  while (!command.empty()) {
    const std::size_t space = std::min(command.find(' '), command.size());
    if (space > 0) {
      options.words.emplace_back(command.substr(0, space));
    }
    command.remove_prefix(std::min(space + 1, command.size()));
  }
  if (options.words.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                "policy 'program' needs a path, as in program:./my_policy.py");
  }
  auto rest = placement::PolicyOptions::parse(ProgramPolicy::kName,
                                              text.substr(std::min(comma + 1, text.size())));
  if (!rest) {
    return tl::unexpected(std::move(rest).error());
  }
  double patience_s = options.patience.count();
  rest->read_number("deadline_s", 1e-3, kPatienceMaxS, patience_s);
  if (auto read = rest->finish(); !read) {
    return tl::unexpected(std::move(read).error());
  }
  options.patience = std::chrono::duration<double>(patience_s);
  return options;
}

}  // namespace eplb::cli
