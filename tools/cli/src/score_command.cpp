#include "score_command.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "eplb/cli/command_line.hpp"
#include "eplb/cli/output_file.hpp"
#include "eplb/cli/progress.hpp"
#include "eplb/core/topology.hpp"
#include "eplb/formats/loads.hpp"
#include "group_options.hpp"
#include "policies.hpp"
#include "score.hpp"
#include "score_report.hpp"

namespace eplb::cli {
namespace {

constexpr std::string_view kName = "score";

struct ScoreOptions {
  std::vector<std::string> loads;  ///< Files and folders, as given.
  std::vector<std::string> policies;
  GroupOptions group;
  std::optional<std::string> json_target;
};

CommandSyntax syntax() {
  CommandSyntax syntax{
      .name = kName,
      .usage = "--loads TRACE --policy P[,P...] --ranks N --redundant R [options]",
      .about =
          "Judges policies online on recorded loads: from the fourth window on, each plans on the "
          "last four\n(those of ours on all so far), and the next window is served, which nobody "
          "has seen. The placement\nis carried over; the first one is slot p holds expert p mod E.",
      .example =
          "  eplb score --loads trace.json --policy default,robust,frugal --ranks 32 "
          "--redundant 32\n"
          "  eplb score --loads traces/ --policy default:windows=1,robust:price=0.01 --ranks "
          "16 --redundant 16",
      .positionals = {},
      .options =
          {{.name = "loads",
            .value_name = "TRACE",
            .help = "{\"logical_count\": [windows][layers][experts]}, at least 6 windows; a folder "
                    "stands for its .json files; may be given again",
            .repeatable = true},
           {.name = "policy",
            .value_name = "P[,P...]",
            .help = "policies by name, each perhaps with options, as in robust:price=0.01,reach=2"},
           {.name = "tokens-per-rank",
            .value_name = "T",
            .help = "rows of a step on each rank, for the hashed split (128)"},
           json_option()},
  };
  const std::vector<OptionSpec> group = group_options();
  syntax.options.insert(syntax.options.begin() + 2, group.begin(), group.end());
  return syntax;
}

/// Policies of a list; a part "key=value" without a name goes on with the options of the one before
/// it.
std::vector<std::string> split_policies(std::string_view list) {
  std::vector<std::string> policies;
  while (true) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view part = list.substr(0, comma);
    const std::size_t equals = part.find('=');
    const bool is_option = equals != std::string_view::npos && part.find(':') > equals;
    if (is_option && !policies.empty()) {
      policies.back() += fmt::format(",{}", part);
    } else {
      policies.emplace_back(part);
    }
    if (comma == list.size()) {
      return policies;
    }
    list.remove_prefix(comma + 1);
  }
}

ScoreOptions read_options(OptionValues& values) {
  ScoreOptions options;
  const auto loads = values.texts("loads");
  options.loads.assign(loads.begin(), loads.end());
  if (options.loads.empty()) {
    values.note_problem("--loads: is missing");
  }
  options.policies = split_policies(values.required_text("policy"));
  options.group = read_group_options(values);
  options.json_target = values.text("json");
  return options;
}

tl::unexpected<Error> fail_usage(const std::string& message) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("eplb {}: error: {}", kName, message));
}

/// The files that `loads` stands for, those of a folder by name.
Result<std::vector<std::string>> trace_files(const std::vector<std::string>& loads) {
  std::vector<std::string> files;
  for (const std::string& path : loads) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    const std::size_t first = files.size();
    for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
      if (entry.path().extension() == ".json") {
        files.push_back(entry.path().string());
      }
    }
    if (error) {
      return fail_usage(fmt::format("{}: {}", path, error.message()));
    }
    if (files.size() == first) {
      return fail_usage(fmt::format("--loads: {} holds no .json file", path));
    }
    std::sort(files.begin() + static_cast<std::ptrdiff_t>(first), files.end());
  }
  return files;
}

using Policies = std::vector<std::unique_ptr<PlacementPolicy>>;

/// A failure's message is complete, with the file or the command that it is about.
Result<TraceScores> score_trace(const std::string& file, const ScoreOptions& options,
                                const Policies& policies, Progress& progress) {
  progress.show(fmt::format("reading {}", file));
  const auto loads = formats::read_loads(file);
  if (!loads) {
    return tl::unexpected(loads.error());
  }
  if (loads->windows.size() < kTraceWindowsMin) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: error: logical_count: must hold at least {} windows, got {}", file,
                            kTraceWindowsMin, loads->windows.size()));
  }
  const Shape shape = options.group.shape_of(loads->windows.front());
  if (const auto valid = validate(shape); !valid) {
    return fail_usage(fmt::format("{}: {}", file, valid.error().message));
  }
  const std::int32_t ranks_per_node = shape.rank_count / options.group.usable_node_count();
  const auto topology = Topology::create({.rank_count = shape.rank_count,
                                          .ranks_per_node = ranks_per_node,
                                          .ranks_per_domain = ranks_per_node});
  if (!topology) {
    return fail_usage(topology.error().message);
  }
  const ScoreTask task{.shape = shape,
                       .topology = *topology,
                       .windows = loads->windows,
                       .rows_per_rank = options.group.rows_per_rank};
  TraceScores result{.loads_file = file,
                     .plan_count = loads->windows.size() - kPlannedWindows,
                     .shape = shape,
                     .scores = {},
                     .ceiling = {}};
  result.scores.reserve(policies.size());
  for (std::size_t index = 0; index < policies.size(); ++index) {
    const auto score = score_policy(task, *policies[index], [&](std::size_t plan) {
      progress.show(fmt::format("{}: {}, plan {} of {}", file, options.policies[index], plan,
                                result.plan_count));
    });
    if (!score) {
      return fail_usage(fmt::format("{}: {}", options.policies[index], score.error().message));
    }
    result.scores.push_back(*score);
  }
  const auto ceiling = ceiling_of(task);
  if (!ceiling) {
    return fail_usage(ceiling.error().message);
  }
  result.ceiling = *ceiling;
  return result;
}

Result<void> score_and_report(const ScoreOptions& options, const Policies& policies,
                              const Streams& streams) {
  auto json = OutputFile::open(options.json_target, streams.out);
  if (!json) {
    return tl::unexpected(std::move(json).error());
  }
  const auto files = trace_files(options.loads);
  if (!files) {
    return tl::unexpected(files.error());
  }
  warn_of_nodes(options.group, kName, streams);
  ScoreReport report{
      .policies = options.policies, .traces = {}, .node_count = options.group.usable_node_count()};
  report.traces.reserve(files->size());
  Progress progress(streams);
  for (const std::string& file : *files) {
    auto scores = score_trace(file, options, policies, progress);
    if (!scores) {
      progress.clear();
      return tl::unexpected(std::move(scores).error());
    }
    report.traces.push_back(*std::move(scores));
  }
  progress.clear();
  if (!json->takes_standard_output()) {
    print_scores(report, streams.out);
  }
  return json->write(score_json(report));
}

}  // namespace

ExitCode run_score(std::span<const std::string> arguments, const Streams& streams) {
  auto values = parse_command_line(syntax(), arguments, streams);
  if (!values) {
    return values.error();
  }
  const ScoreOptions options = read_options(*values);
  Policies policies;
  if (values->has("policy")) {
    for (const std::string& spec : options.policies) {
      auto policy = known_policies().make(spec);
      if (policy) {
        policies.push_back(*std::move(policy));
      } else {
        values->note_problem(fmt::format("--policy: {}", policy.error().message));
      }
    }
  }
  if (values->report_problems(streams)) {
    return ExitCode::kUsage;
  }
  const auto reported = score_and_report(options, policies, streams);
  if (!reported) {
    streams.err << reported.error().message << '\n';
    return ExitCode::kUsage;
  }
  return ExitCode::kDone;
}

}  // namespace eplb::cli
