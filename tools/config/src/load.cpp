#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "canonical.hpp"
#include "eplb/config/config.hpp"
#include "eplb/core/digest.hpp"
#include "fields.hpp"
#include "lookup.hpp"
#include "overrides.hpp"
#include "rules.hpp"
#include "text_file.hpp"
#include "words.hpp"
#include "workload.hpp"

namespace eplb::config {
namespace {

constexpr IncludeKind kModel = {.key = "model", .folder = "models", .has_name = true};
constexpr IncludeKind kHardware = {.key = "hardware", .folder = "hardware", .has_name = false};

constexpr std::string_view kPolicyKey = "eplb.policy";

constexpr auto kSections = std::to_array<std::string_view>(
    {"model", "hardware", "parallel", "serving", "workload", "eplb", "run"});

/// The whole tree, files included and overrides applied. An override below `model` or `hardware`
/// has to wait for the file, whichever override named that.
void complete(Yaml& root, const LoadOptions& options, Reading& reading) {
  std::vector<Override> waiting;
  for (Override& one : parse_overrides(options.overrides, reading)) {
    if (one.is_below(kModel.key) || one.is_below(kHardware.key)) {
      waiting.push_back(std::move(one));
    } else {
      apply_override(std::move(one), root, reading);
    }
  }
  include_file(root, kModel, options, reading);
  include_file(root, kHardware, options, reading);
  for (Override& one : waiting) {
    apply_override(std::move(one), root, reading);
  }
}

/// The section of a file or mapping that no scenario can do without.
Section included_section(const Section& root, const IncludeKind& kind, Reading& reading) {
  Section section = subsection(root, kind.key, reading);
  if (section.yaml == nullptr) {
    reading.reject({}, kind.key, "is missing, must be a name, a path or a mapping");
  }
  return section;
}

void check_policy(const EplbOptions& eplb, const LoadOptions& options, Reading& reading) {
  const std::vector<std::string>& names = options.policy_names;
  if (!names.empty() && std::ranges::find(names, eplb.policy) == names.end()) {
    reading.reject(reading.position(kPolicyKey), kPolicyKey,
                   unknown("policy " + printable(eplb.policy), eplb.policy, views(names)));
  }
}

sim::Scenario read_scenario(const Section& root, const LoadOptions& options, Reading& reading) {
  static_cast<void>(values_of(root, kSections, reading));
  const auto section = [&](std::string_view key) { return subsection(root, key, reading); };
  sim::Scenario scenario;
  scenario.model =
      read_fields<ModelOptions>(included_section(root, kModel, reading), model_fields(), reading);
  scenario.hardware = read_fields<sim::HardwareOptions>(included_section(root, kHardware, reading),
                                                        hardware_fields(), reading);
  scenario.parallel = read_fields<ParallelOptions>(section("parallel"), parallel_fields(), reading);
  scenario.serving =
      read_fields<sim::ServingOptions>(section("serving"), serving_fields(), reading);
  scenario.workload = read_workload(section("workload"), reading);
  scenario.eplb = read_fields<EplbOptions>(section("eplb"), eplb_fields(), reading);
  scenario.run = read_fields<sim::RunOptions>(section("run"), run_fields(), reading);
  if (scenario.parallel.ranks_per_node == 0) {
    scenario.parallel.ranks_per_node = scenario.hardware.gpus_per_node;
  }
  check_policy(scenario.eplb, options, reading);
  check_counts(scenario.workload, scenario.model, reading);
  check_rules(scenario, reading);
  return scenario;
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
                   "must be a mapping of " + join(kSections) + ", got " + describe(*root));
    return tl::unexpected(reading.diagnostics());
  }
  complete(*root, options, reading);
  ResolvedConfig resolved;
  resolved.scenario = read_scenario({.yaml = &*root}, options, reading);
  if (!reading.clean()) {
    return tl::unexpected(reading.diagnostics());
  }
  resolved.notes = reading.notes();
  resolved.canonical_yaml = canonical_yaml(resolved.scenario);
  Digest digest;
  digest.add(resolved.canonical_yaml);
  add_counts(resolved.scenario.workload, digest);
  resolved.digest = digest.value();
  return resolved;
}

}  // namespace eplb::config
