#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "eplb/config/config.hpp"
#include "fields.hpp"

namespace eplb::config {
namespace {

constexpr std::string_view kPreface = R"(# Configuration

One YAML file describes a scenario; `quickstart.yaml` is one to start from. `model` and `hardware`
are a mapping of the keys below, or the name of a file in `models/` and `hardware/`, or a path to
one (it has a slash, or ends in `.yaml`). A path in a file is relative to that file. `model` may
also be a list of these: first the target, then the models that draft for it in the same group.

Numbers are decimal; GB are 10^9 bytes. A key that is not below is refused, as is a value of another
type or out of range; all that is wrong is reported at once, with its place. `--set key=value`
overrides a key, as in `--set eplb.window_size=100`; a path in it is relative to the current
directory.

This page is generated from the tables that the program reads files by.
)";

/// What holds when the key is not given.
template <typename S>
std::string default_column(const S& defaults, const Field<S>& field) {
  if (field.required) {
    return "required";
  }
  if (!field.default_help.empty()) {
    return std::string(field.default_help);
  }
  return kept_text(defaults, field).value_or("");
}

/// One key as the table has it.
struct Columns {
  std::string_view key;
  std::string allowed;
  std::string default_value;
  std::string_view unit;
  std::string_view help;
};

std::string table_of(std::span<const Columns> rows) {
  std::string text = "| key | allowed | default | unit | meaning |\n|---|---|---|---|---|\n";
  for (const Columns& row : rows) {
    text += "| `" + std::string(row.key) + "` | " + row.allowed + " | " + row.default_value +
            " | " + std::string(row.unit) + " | " + std::string(row.help) + " |\n";
  }
  return text;
}

template <typename S>
std::string table(Fields<S> fields) {
  S defaults{};
  std::vector<Columns> rows;
  for (const Field<S>& field : fields) {
    rows.push_back({.key = field.key,
                    .allowed = allowed(place_of(defaults, field), field.range),
                    .default_value = default_column(defaults, field),
                    .unit = field.unit,
                    .help = field.help});
  }
  return table_of(rows);
}

template <typename S>
std::string section(std::string_view heading, Fields<S> fields) {
  return "\n## " + std::string(heading) + "\n\n" + table<S>(fields);
}

template <typename... S>
std::string kinds_section(std::string_view heading, const std::tuple<Kind<S>...>& kinds) {
  std::string text =
      "\n## " + std::string(heading) + "\n\nThe key `kind` chooses which other keys there are.\n";
  const auto add = [&]<typename One>(const Kind<One>& kind) {
    text += "\n### kind: " + std::string(kind.name) + "\n\n" + std::string(kind.help) + "\n";
    if (!kind.fields.empty()) {
      text += "\n" + table<One>(kind.fields);
    }
  };
  std::apply([&](const auto&... kind) { (add(kind), ...); }, kinds);
  return text;
}

std::string operations_section() {
  std::string text = "\n## Operations of a host thread\n";
  const auto add = [&]<typename One>(const Kind<One>& kind) {
    text += "\n### " + std::string(kind.name) + "\n\n" + std::string(kind.help) + "\n\n" +
            table<One>(kind.fields);
  };
  std::apply([&](const auto&... kind) { (add(kind), ...); }, operation_kinds());
  return text;
}

}  // namespace

std::string schema_markdown() {
  return std::string(kPreface) + section<ModelOptions>("model", model_fields()) +
         section<sim::HardwareOptions>("hardware", hardware_fields()) +
         section<ParallelOptions>("parallel", parallel_fields()) +
         section<ScaleEvent>("parallel.scale, each entry", scale_fields()) +
         section<EngineOptions>("engine", engine_fields()) +
         section<sim::ServingOptions>("serving", serving_fields()) +
         section<sim::WorkloadOptions>("workload", workload_fields()) +
         kinds_section("workload.routing", routing_kinds()) +
         section<sim::DomainsRouting::Phase>("workload.routing.schedule, each phase",
                                             phase_fields()) +
         kinds_section("workload.drift", drift_kinds()) +
         section<EplbOptions>("eplb", eplb_fields()) +
         section<TriggerOptions>("eplb.trigger", trigger_fields()) +
         section<sim::FaultOptions>("faults", fault_fields()) +
         section<sim::FailedLinks>("faults.failed_links, each entry", failed_links_fields()) +
         section<sim::SlowPort>("faults.slow_ports, each entry", slow_port_fields()) +
         section<sim::Straggler>("faults.stragglers, each entry", straggler_fields()) +
         section<sim::HostStall>("faults.host_stalls, each entry", host_stall_fields()) +
         section<sim::LostRank>("faults.lost_ranks, each entry", lost_rank_fields()) +
         section<sim::RunOptions>("run", run_fields()) +
         section<placement::SearchOptions>("search, for `eplb search`", search_fields()) +
         section<AxisRange>("search.axes, a range", axis_range_fields()) +
         section<sim::Program>("program, instead of all but hardware and run", program_fields()) +
         section<sim::HostThread>("program.threads, each entry", host_thread_fields()) +
         operations_section() +
         section<sim::RunOptions>("run, beside a program", program_run_fields());
}

}  // namespace eplb::config
