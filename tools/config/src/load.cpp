#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "canonical.hpp"
#include "entries.hpp"
#include "eplb/config/config.hpp"
#include "eplb/core/digest.hpp"
#include "fields.hpp"
#include "include_kinds.hpp"
#include "lookup.hpp"
#include "models.hpp"
#include "overrides.hpp"
#include "program.hpp"
#include "rules.hpp"
#include "search.hpp"
#include "text_file.hpp"
#include "words.hpp"
#include "workload.hpp"
#include "yaml_copy.hpp"

namespace eplb::config {
namespace {

constexpr std::string_view kModel = "model";
constexpr std::string_view kHardware = "hardware";
constexpr std::string_view kPolicyKey = "eplb.policy";

constexpr std::string_view kProgram = "program";
constexpr std::string_view kSearch = "search";

constexpr auto kSections =
    std::to_array<std::string_view>({kModel, kHardware, "parallel", "engine", "serving", "workload",
                                     "eplb", "faults", "run", kSearch});
constexpr auto kProgramSections = std::to_array<std::string_view>({kHardware, kProgram, "run"});

/// Completes the tree: files are included and overrides applied. An override below `model` or
/// `hardware` has to wait for the file, whichever override named that. Returns the draft models.
std::vector<Yaml> complete(Yaml& root, std::vector<Override> overrides, const LoadOptions& options,
                           Reading& reading) {
  std::vector<Override> waiting;
  for (Override& one : overrides) {
    if (one.is_below(kModel) || one.is_below(kHardware)) {
      waiting.push_back(std::move(one));
    } else {
      apply_override(std::move(one), root, reading);
    }
  }
  std::vector<Yaml> drafts = take_drafts(root, reading);
  include_models(root, drafts, options, reading);
  if (Yaml* hardware = find(root, kHardware); hardware != nullptr) {
    static_cast<void>(
        include_file(*hardware, std::string(kHardware), kHardwareFiles, options, reading));
  }
  for (Override& one : waiting) {
    apply_override(std::move(one), root, reading);
  }
  return drafts;
}

/// The section of a file or mapping that no scenario can do without.
Section included_section(const Section& root, std::string_view key, Reading& reading) {
  Section section = subsection(root, key, reading);
  if (section.yaml == nullptr) {
    reading.reject({}, key, "is missing, must be a name, a path or a mapping");
  }
  return section;
}

void check_policy(const EplbOptions& eplb, const LoadOptions& options, Reading& reading) {
  const std::vector<std::string>& names = options.policy_names;
  const std::string name = eplb.policy.substr(0, eplb.policy.find(':'));
  if (!names.empty() && std::ranges::find(names, name) == names.end()) {
    reading.reject(reading.position(kPolicyKey), kPolicyKey,
                   unknown("policy " + printable(name), name, views(names)));
  } else if (options.policy_problem) {
    if (const std::string problem = options.policy_problem(eplb.policy); !problem.empty()) {
      reading.reject(reading.position(kPolicyKey), kPolicyKey, problem);
    }
  }
}

/// What the defaults of some keys are by others.
void fill_in(sim::Scenario& scenario) {
  ParallelOptions& parallel = scenario.parallel;
  if (parallel.ranks_per_node == 0) {
    parallel.ranks_per_node = scenario.hardware.gpus_per_node;
  }
  if (parallel.data_parallel == 0) {
    parallel.data_parallel = parallel.ranks;
  }
}

sim::FaultOptions read_faults(const Section& section, Reading& reading) {
  static_cast<void>(values_of(section, keys_of(fault_fields()), reading));
  return {
      .failed_links =
          read_entries<sim::FailedLinks>(section, "failed_links", failed_links_fields(), reading),
      .slow_ports = read_entries<sim::SlowPort>(section, "slow_ports", slow_port_fields(), reading),
      .stragglers =
          read_entries<sim::Straggler>(section, "stragglers", straggler_fields(), reading),
      .host_stalls =
          read_entries<sim::HostStall>(section, "host_stalls", host_stall_fields(), reading),
      .lost_ranks =
          read_entries<sim::LostRank>(section, "lost_ranks", lost_rank_fields(), reading)};
}

/// What each key says, before any rule between keys is looked at.
sim::Scenario read_scenario(const Section& root, const std::vector<Yaml>& drafts,
                            const LoadOptions& options, Reading& reading) {
  static_cast<void>(values_of(root, kSections, reading));
  const auto section = [&](std::string_view key) { return subsection(root, key, reading); };
  sim::Scenario scenario;
  scenario.model =
      read_fields<ModelOptions>(included_section(root, kModel, reading), model_fields(), reading);
  scenario.drafts = read_drafts(drafts, reading);
  scenario.hardware = read_fields<sim::HardwareOptions>(included_section(root, kHardware, reading),
                                                        hardware_fields(), reading);
  scenario.parallel = read_fields<ParallelOptions>(section("parallel"), parallel_fields(), reading);
  scenario.parallel.scale =
      read_entries<ScaleEvent>(section("parallel"), "scale", scale_fields(), reading);
  scenario.engine = read_fields<EngineOptions>(section("engine"), engine_fields(), reading);
  scenario.serving =
      read_fields<sim::ServingOptions>(section("serving"), serving_fields(), reading);
  scenario.workload = read_workload(section("workload"), reading);
  scenario.eplb = read_fields<EplbOptions>(section("eplb"), eplb_fields(), reading);
  if (const Section trigger = subsection(section("eplb"), "trigger", reading);
      trigger.yaml != nullptr) {
    scenario.eplb.trigger = read_fields<TriggerOptions>(trigger, trigger_fields(), reading);
  }
  scenario.faults = read_faults(section("faults"), reading);
  scenario.run = read_fields<sim::RunOptions>(section("run"), run_fields(), reading);
  fill_in(scenario);
  check_policy(scenario.eplb, options, reading);
  return scenario;
}

/// What is wrong with one value of an axis by itself, as the configuration's own value would be;
/// empty if nothing is. `written` is the tree before its files were included.
std::string axis_problem(const WrittenAxis& axis, const Yaml& value, const Yaml& written,
                         const LoadOptions& options, const Reading& reading) {
  Reading probe = reading;
  Yaml root = copy_of(written);
  std::vector<Override> overrides = parse_overrides(options.overrides, {}, probe);
  overrides.push_back({.path = split_key(axis.key).value(), .value = copy_of(value)});
  const std::vector<Yaml> drafts = complete(root, std::move(overrides), options, probe);
  static_cast<void>(read_scenario({.yaml = &root}, drafts, options, probe));
  return probe.clean() ? std::string() : probe.diagnostics().front().message;
}

/// Why no policy among `policies` takes the option with the value; empty if one does.
std::string option_problem(const WrittenAxis& axis, const Yaml& value,
                           const std::vector<std::string>& policies, const LoadOptions& options) {
  std::string problem;
  for (const std::string& policy : policies) {
    std::string spec = policy;
    spec += policy.find(':') == std::string::npos ? ':' : ',';
    spec.append(axis.key.substr(kPolicyOptionPrefix.size())).append("=").append(value.text);
    problem = options.policy_problem ? options.policy_problem(spec) : std::string();
    if (problem.empty()) {
      return {};
    }
  }
  return problem;
}

/// The policies that a search tries: those of its axis, or the configuration's own.
std::vector<std::string> policies_of(const std::vector<WrittenAxis>& axes,
                                     const EplbOptions& eplb) {
  const auto axis = std::ranges::find(axes, kPolicyKey, &WrittenAxis::key);
  if (axis == axes.end()) {
    return {eplb.policy};
  }
  std::vector<std::string> policies;
  for (const Yaml& value : axis->values) {
    policies.push_back(value.text);
  }
  return policies;
}

/// Rejects values that no setting can have. What is wrong with every value is the key's fault.
void check_axes(const std::vector<WrittenAxis>& axes, const Yaml& written,
                const sim::Scenario& scenario, const LoadOptions& options, Reading& reading) {
  const Reading before = reading;
  const std::vector<std::string> policies = policies_of(axes, scenario.eplb);
  for (const WrittenAxis& axis : axes) {
    std::vector<std::string> problems;
    for (const Yaml& value : axis.values) {
      problems.push_back(axis.key.starts_with(kPolicyOptionPrefix)
                             ? option_problem(axis, value, policies, options)
                             : axis_problem(axis, value, written, options, before));
    }
    const std::string name = std::string(kSearch) + ".axes." + axis.name;
    const auto repeated = std::ranges::count(problems, problems.front());
    if (problems.size() > 1 && !problems.front().empty() &&
        repeated == static_cast<std::ptrdiff_t>(problems.size())) {
      reading.reject(axis.at, name, problems.front());
      continue;
    }
    for (std::size_t index = 0; index < problems.size(); ++index) {
      if (!problems[index].empty()) {
        reading.reject(axis.values[index].at, name, problems[index]);
      }
    }
  }
}

/// A section of a serving run beside a program is no slip of the pen, so that it is told apart.
std::vector<ForeignKey> serving_sections() {
  std::vector<ForeignKey> foreign;
  for (const std::string_view key : kSections) {
    if (std::ranges::find(kProgramSections, key) == kProgramSections.end()) {
      foreign.push_back({.key = key, .kind = "serving run"});
    }
  }
  return foreign;
}

ResolvedConfig resolve_program(const Yaml& yaml, Reading& reading) {
  const Section root{.yaml = &yaml, .kind = "program", .foreign = serving_sections()};
  static_cast<void>(values_of(root, kProgramSections, reading));
  ResolvedConfig resolved;
  resolved.scenario.hardware = read_fields<sim::HardwareOptions>(
      included_section(root, kHardware, reading), hardware_fields(), reading);
  resolved.scenario.run =
      read_fields<sim::RunOptions>(subsection(root, "run", reading), program_run_fields(), reading);
  resolved.program =
      read_program(subsection(root, kProgram, reading), resolved.scenario.hardware, reading);
  resolved.canonical_yaml = canonical_yaml(*resolved.program, resolved.scenario);
  return resolved;
}

/// `written` is the tree before its files were included.
ResolvedConfig resolve_scenario(const Yaml& yaml, const Yaml& written,
                                const std::vector<Yaml>& drafts, const LoadOptions& options,
                                Reading& reading) {
  ResolvedConfig resolved;
  const Section root{.yaml = &yaml};
  resolved.scenario = read_scenario(root, drafts, options, reading);
  check_counts(resolved.scenario.workload, resolved.scenario.model, reading);
  check_rules(resolved.scenario, reading);
  if (const Section search = subsection(root, kSearch, reading); search.yaml != nullptr) {
    const std::vector<WrittenAxis> axes = read_axes(search, reading);
    resolved.search = read_search(search, axes, reading);
    check_search(*resolved.search, resolved.scenario.run, reading);
    // The values of a setting were checked when the search itself was read.
    if (reading.clean() && options.settings.empty()) {
      check_axes(axes, written, resolved.scenario, options, reading);
    }
  }
  if (reading.clean()) {
    resolved.canonical_yaml = canonical_yaml(resolved.scenario, resolved.search);
  }
  return resolved;
}

}  // namespace

LoadResult load_config(const std::filesystem::path& path, const LoadOptions& options) {
  const auto text = read_text(path);
  if (!text.has_value()) {
    return tl::unexpected(std::vector{Diagnostic{.file = path.string(), .message = text.error()}});
  }
  return load_config_text({.text = *text, .name = path.string(), .directory = path.parent_path()},
                          options);
}

LoadResult load_config_text(const ConfigText& config, const LoadOptions& options) {
  Reading reading;
  const std::int32_t source = reading.add_source(
      {.name = config.name, .kind = SourceKind::kScenario, .directory = config.directory});
  std::optional<Yaml> root = parse_yaml({.text = config.text, .source = source}, reading);
  if (!root.has_value()) {
    return tl::unexpected(reading.diagnostics());
  }
  if (root->kind != YamlKind::kMapping) {
    reading.reject(root->at, "",
                   "must be a mapping of " + join(kSections) + ", or of " + join(kProgramSections) +
                       ", got " + describe(*root));
    return tl::unexpected(reading.diagnostics());
  }
  const Yaml written = copy_of(*root);
  std::vector<Override> overrides = parse_overrides(options.overrides, {}, reading);
  std::ranges::move(parse_overrides(options.settings, config.directory, reading),
                    std::back_inserter(overrides));
  const std::vector<Yaml> drafts = complete(*root, std::move(overrides), options, reading);
  ResolvedConfig resolved = find(*root, kProgram) != nullptr
                                ? resolve_program(*root, reading)
                                : resolve_scenario(*root, written, drafts, options, reading);
  if (!reading.clean()) {
    return tl::unexpected(reading.diagnostics());
  }
  resolved.notes = reading.notes();
  Digest digest;
  digest.add(resolved.canonical_yaml);
  add_counts(resolved.scenario.workload, digest);
  resolved.digest = digest.value();
  return resolved;
}

}  // namespace eplb::config
