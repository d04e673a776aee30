#include "plan_command.hpp"

#include <fmt/core.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <utility>

#include "eplb/cli/command_line.hpp"
#include "eplb/cli/output_file.hpp"
#include "eplb/cli/progress.hpp"
#include "eplb/core/policy.hpp"
#include "eplb/core/topology.hpp"
#include "eplb/formats/loads.hpp"
#include "eplb/formats/placements.hpp"
#include "group_options.hpp"
#include "plan_evaluation.hpp"
#include "plan_report.hpp"
#include "policies.hpp"

namespace eplb::cli {
namespace {

constexpr std::string_view kName = "plan";

struct PlanOptions {
  std::string loads_file;
  GroupOptions group;
  std::string policy;
  std::optional<std::string> current_file;
  bool studies_spares = false;
  std::optional<std::string> json_target;
};

std::string policy_list() {
  std::string list;
  for (const std::string& name : known_policies().names()) {
    list += list.empty() ? "" : ", ";
    list += name;
  }
  return list;
}

CommandSyntax syntax() {
  CommandSyntax syntax{
      .name = kName,
      .usage = "--loads FILE --ranks N --redundant R [options]",
      .about =
          "Plans one placement of experts on ranks from recorded loads, and says how good it "
          "is.\nThe placement itself goes to --json, in SGLang's physical_to_logical_map.",
      .example =
          "  eplb plan --loads loads.json --ranks 32 --redundant 32 --json plan.json\n"
          "  eplb plan --loads later.json --ranks 32 --redundant 32 --current plan.json",
      .positionals = {},
      .options =
          {{.name = "loads",
            .value_name = "FILE",
            .help = "token counts of the logical experts, as SGLang dumps them: "
                    "{\"logical_count\": [layers][experts]}, or [windows][layers][experts]; all "
                    "windows are planned for together"},
           {.name = "policy",
            .value_name = "NAME",
            .help = fmt::format("how to plan, one of {}; without it, default", policy_list())},
           {.name = "current",
            .value_name = "FILE",
            .help = "the placement that serves now, as --json writes it; without it, moves are "
                    "counted from the initial one, where slot p holds expert p mod E"},
           {.name = "tokens-per-rank",
            .value_name = "T",
            .help = "rows of a step on each rank, for balancedness_hashed (128)"},
           {.name = "spare-study",
            .value_name = "",
            .help = "also say what spare slots would bring if layers, or ranks, could have unequal "
                    "ones"},
           json_option()},
  };
  const std::vector<OptionSpec> group = group_options();
  syntax.options.insert(syntax.options.begin() + 1, group.begin(), group.end());
  return syntax;
}

PlanOptions read_options(OptionValues& values) {
  PlanOptions options;
  options.loads_file = values.required_text("loads");
  options.group = read_group_options(values);
  options.policy = values.text("policy").value_or("default");
  options.current_file = values.text("current");
  options.studies_spares = values.has("spare-study");
  options.json_target = values.text("json");
  return options;
}

tl::unexpected<Error> fail_usage(const std::string& message) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("eplb {}: error: {}", kName, message));
}

/// What the files and the options say together.
struct PlanInput {
  formats::Loads loads;
  Shape shape;
  std::optional<Placement> current;
};

/// A failure's message is complete, with the file or the command that it is about.
Result<PlanInput> read_input(const PlanOptions& options) {
  auto loads = formats::read_loads(options.loads_file);
  if (!loads) {
    return tl::unexpected(std::move(loads).error());
  }
  const Shape shape = options.group.shape_of(loads->windows.front());
  if (const auto valid = validate(shape); !valid) {
    return fail_usage(valid.error().message);
  }
  PlanInput input{.loads = *std::move(loads), .shape = shape, .current = std::nullopt};
  if (options.current_file.has_value()) {
    auto current = formats::read_placement(*options.current_file, shape);
    if (!current) {
      return tl::unexpected(std::move(current).error());
    }
    input.current = *std::move(current);
  }
  return input;
}

struct Planned {
  Placement placement;
  double plan_ms = 0;
};

/// Without load a policy has nothing to go by, and what serves stays.
Result<Planned> plan(const PlacementPolicy& policy, const PolicyProblem& problem,
                     const Placement& before) {
  if (window_load(problem).sum() == 0) {
    return Planned{.placement = before};
  }
  const auto begin = std::chrono::steady_clock::now();
  auto placement = policy.place(problem);
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - begin;
  if (!placement) {
    return fail_usage(placement.error().message);
  }
  return Planned{.placement = *std::move(placement), .plan_ms = elapsed.count()};
}

/// Plans and judges; a failure's message is complete.
Result<PlanReport> make_report(const PlanOptions& options, const PlanInput& input,
                               const PlacementPolicy& policy, const Streams& streams) {
  const Shape& shape = input.shape;
  warn_of_nodes(options.group, kName, streams);
  const std::int32_t node_count = options.group.usable_node_count();
  const auto topology = Topology::create({.rank_count = shape.rank_count,
                                          .ranks_per_node = shape.rank_count / node_count,
                                          .ranks_per_domain = shape.rank_count / node_count});
  if (!topology) {
    return fail_usage(topology.error().message);
  }
  const PolicyProblem problem{
      .shape = shape,
      .topology = *topology,
      .history = input.loads.windows,
      .window_part_count = static_cast<std::int32_t>(input.loads.windows.size()),
      .current = input.current.has_value() ? &*input.current : nullptr,
      .costs = {}};
  const Placement before = input.current.value_or(Placement::initial(shape));
  auto planned = plan(policy, problem, before);
  if (!planned) {
    return tl::unexpected(std::move(planned).error());
  }
  const RealLoadMatrix load = window_load(problem);
  const auto evaluation = evaluate_plan({.planned = planned->placement,
                                         .before = before,
                                         .load = load,
                                         .rows_per_rank = options.group.rows_per_rank});
  if (!evaluation) {
    return fail_usage(evaluation.error().message);
  }
  std::optional<SpareStudy> spare_study;
  if (options.studies_spares && load.sum() > 0) {
    auto study = study_spares(problem, policy);
    if (!study) {
      return fail_usage(study.error().message);
    }
    spare_study = *std::move(study);
  }
  return PlanReport{
      .placement = std::move(planned->placement),
      .evaluation = *evaluation,
      .plan_ms = planned->plan_ms,
      .has_load = load.sum() > 0,
      .spare_study = std::move(spare_study),
      .policy = options.policy,
      .loads_file = options.loads_file,
      .window_count = input.loads.windows.size(),
      .node_count = node_count,
      .rows_per_rank = options.group.rows_per_rank,
      .before = options.current_file.value_or("the initial placement (slot p holds p mod E)")};
}

/// From the files to the report; a failure's message is complete.
Result<void> plan_and_report(const PlanOptions& options, const PlacementPolicy& policy,
                             const Streams& streams) {
  auto json = OutputFile::open(options.json_target, streams.out);
  if (!json) {
    return tl::unexpected(std::move(json).error());
  }
  Progress progress(streams);
  progress.show(fmt::format("reading {}", options.loads_file));
  const auto input = read_input(options);
  progress.clear();
  if (!input) {
    return tl::unexpected(input.error());
  }
  const auto report = make_report(options, *input, policy, streams);
  if (!report) {
    return tl::unexpected(report.error());
  }
  if (!report->has_load) {
    print_warning(streams, kName, "there is no load at all; the placement stays as it was");
  }
  if (!json->takes_standard_output()) {
    print_plan(*report, streams.out);
  }
  return json->write(plan_json(*report));
}

}  // namespace

ExitCode run_plan(std::span<const std::string> arguments, const Streams& streams) {
  auto values = parse_command_line(syntax(), arguments, streams);
  if (!values) {
    return values.error();
  }
  const PlanOptions options = read_options(*values);
  const auto policy = known_policies().make(options.policy);
  if (!policy) {
    values->note_problem(fmt::format("--policy: {}", policy.error().message));
  }
  if (values->report_problems(streams)) {
    return ExitCode::kUsage;
  }
  const auto reported = plan_and_report(options, **policy, streams);
  if (!reported) {
    streams.err << reported.error().message << '\n';
    return ExitCode::kUsage;
  }
  return ExitCode::kDone;
}

}  // namespace eplb::cli
