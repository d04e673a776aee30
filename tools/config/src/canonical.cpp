#include "canonical.hpp"

#include <tuple>
#include <variant>

#include "fields.hpp"

namespace eplb::config {
namespace {

/// Block-style YAML, two spaces a level.
class Writer {
 public:
  void open(std::string_view key) {
    line(key, "");
    ++depth_;
  }

  void indent() { ++depth_; }

  void close() { --depth_; }

  void scalar(std::string_view key, const std::string& value) { line(key, " " + value); }

  void item(const std::string& value) { indented("- " + value); }

  /// An item that is a mapping on several lines, `value` its first.
  void open_item(const std::string& value) {
    item(value);
    ++depth_;
  }

  [[nodiscard]] std::string text() && { return std::move(text_); }

 private:
  void line(std::string_view key, const std::string& rest) {
    indented(std::string(key) + ":" + rest);
  }

  void indented(const std::string& line) { text_ += std::string(2 * depth_, ' ') + line + "\n"; }

  std::string text_;
  std::size_t depth_ = 0;
};

std::string mix_text(const sim::DomainsRouting& routing, const sim::DomainsRouting::Phase& phase) {
  std::string text;
  for (std::size_t domain = 0; domain < phase.shares.size(); ++domain) {
    if (phase.shares[domain] > 0) {
      text += (text.empty() ? "" : ", ") + value_text(routing.domains[domain].name) + ": " +
              value_text(phase.shares[domain]);
    }
  }
  return "{" + text + "}";
}

template <typename S>
void write_fields(const S& values, Fields<S> fields, Writer& writer) {
  std::string_view open_section;
  for (const Field<S>& field : fields) {
    const std::size_t dot = field.key.find('.');
    const std::string_view section =
        dot == std::string_view::npos ? std::string_view() : field.key.substr(0, dot);
    if (section != open_section) {
      if (!open_section.empty()) {
        writer.close();
      }
      if (!section.empty()) {
        writer.open(section);
      }
      open_section = section;
    }
    const std::string_view key = section.empty() ? field.key : field.key.substr(dot + 1);
    if (const auto text = kept_text(values, field); text.has_value()) {
      writer.scalar(key, *text);
    }
  }
  if (!open_section.empty()) {
    writer.close();
  }
}

/// All on one line: `{a: 1, b: 2}`. Of structs without sections of their own.
template <typename S>
std::string flow_mapping(const S& values, Fields<S> fields) {
  std::string text;
  for (const Field<S>& field : fields) {
    if (const auto value = kept_text(values, field); value.has_value()) {
      text += (text.empty() ? "" : ", ") + std::string(field.key) + ": " + *value;
    }
  }
  return "{" + text + "}";
}

template <typename S>
void write_section(std::string_view key, const S& values, Fields<S> fields, Writer& writer) {
  writer.open(key);
  write_fields<S>(values, fields, writer);
  writer.close();
}

/// A mapping, or a list where there are drafts.
void write_models(const sim::Scenario& scenario, Writer& writer) {
  if (scenario.drafts.empty()) {
    write_section<ModelOptions>("model", scenario.model, model_fields(), writer);
    return;
  }
  writer.open("model");
  writer.item(flow_mapping<ModelOptions>(scenario.model, model_fields()));
  for (const ModelOptions& draft : scenario.drafts) {
    writer.item(flow_mapping<ModelOptions>(draft, model_fields()));
  }
  writer.close();
}

template <typename S>
void write_entries(std::string_view key, const std::vector<S>& entries, Fields<S> fields,
                   Writer& writer) {
  if (entries.empty()) {
    writer.scalar(key, "[]");
    return;
  }
  writer.open(key);
  for (const S& entry : entries) {
    writer.item(flow_mapping<S>(entry, fields));
  }
  writer.close();
}

void write_parallel(const ParallelOptions& parallel, Writer& writer) {
  writer.open("parallel");
  write_fields<ParallelOptions>(parallel, parallel_fields(), writer);
  write_entries<ScaleEvent>("scale", parallel.scale, scale_fields(), writer);
  writer.close();
}

/// The trigger stands only where there is one, since it is one by being there.
void write_eplb(const EplbOptions& eplb, Writer& writer) {
  writer.open("eplb");
  write_fields<EplbOptions>(eplb, eplb_fields(), writer);
  if (eplb.trigger.has_value()) {
    write_section<TriggerOptions>("trigger", *eplb.trigger, trigger_fields(), writer);
  }
  writer.close();
}

void write_faults(const sim::FaultOptions& faults, Writer& writer) {
  writer.open("faults");
  write_entries<sim::FailedLinks>("failed_links", faults.failed_links, failed_links_fields(),
                                  writer);
  write_entries<sim::SlowPort>("slow_ports", faults.slow_ports, slow_port_fields(), writer);
  write_entries<sim::Straggler>("stragglers", faults.stragglers, straggler_fields(), writer);
  write_entries<sim::HostStall>("host_stalls", faults.host_stalls, host_stall_fields(), writer);
  write_entries<sim::LostRank>("lost_ranks", faults.lost_ranks, lost_rank_fields(), writer);
  writer.close();
}

/// What a kind's own table does not cover.
template <typename Routing>
void write_content(const Routing& /*routing*/, Writer& /*writer*/) {}

void write_content(const sim::DomainsRouting& routing, Writer& writer) {
  writer.open("schedule");
  for (const sim::DomainsRouting::Phase& phase : routing.schedule) {
    writer.item("{steps: " + value_text(phase.steps) + ", mix: " + mix_text(routing, phase) + "}");
  }
  writer.close();
}

std::string list_text(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) {
    text += (text.empty() ? "" : ", ") + item;
  }
  return "[" + text + "]";
}

void write_search(const placement::SearchOptions& search, Writer& writer) {
  writer.open("search");
  writer.open("axes");
  for (const placement::SearchAxis& axis : search.axes) {
    writer.scalar(axis.key, list_text(axis.values));
  }
  writer.close();
  std::vector<std::string> objectives;
  for (const placement::SearchObjective objective : search.objectives) {
    objectives.emplace_back(to_string(objective));
  }
  writer.scalar("objectives", list_text(objectives));
  write_fields<placement::SearchOptions>(search, search_fields(), writer);
  writer.close();
}

template <typename Variant, typename... S>
void write_kind(std::string_view key, const Variant& value, const std::tuple<Kind<S>...>& kinds,
                Writer& writer) {
  const auto write_if_held = [&]<typename One>(const Kind<One>& kind) {
    if (const One* one = std::get_if<One>(&value); one != nullptr) {
      writer.open(key);
      writer.scalar(kKindKey, std::string(kind.name));
      write_fields<One>(*one, kind.fields, writer);
      write_content(*one, writer);
      writer.close();
    }
  };
  std::apply([&](const auto&... kind) { (write_if_held(kind), ...); }, kinds);
}

/// Writes operations of a list that is open.
class OperationWriter {
 public:
  explicit OperationWriter(Writer& writer) : writer_(writer) {}

  // NOLINTNEXTLINE(misc-no-recursion): a tree is walked, as deep as the text that it was read from.
  void write_list(const std::vector<sim::Operation>& operations) {
    writer_.open("do");
    for (const sim::Operation& operation : operations) {
      std::visit([this](const auto& one) { write(one); }, operation.what);
    }
    writer_.close();
  }

 private:
  template <typename Op>
  void write(const Op& op) {
    const Kind<Op>& kind = std::get<Kind<Op>>(kinds_);
    writer_.item(std::string(kind.name) + ": " + flow_mapping<Op>(op, kind.fields));
  }

  // NOLINTNEXTLINE(misc-no-recursion): as write_list.
  void write(const sim::RepeatOp& repeat) {
    const Kind<sim::RepeatOp>& kind = std::get<Kind<sim::RepeatOp>>(kinds_);
    writer_.open_item(std::string(kind.name) + ":");
    writer_.indent();
    write_fields<sim::RepeatOp>(repeat, kind.fields, writer_);
    write_list(repeat.body);
    writer_.close();
    writer_.close();
  }

  Writer& writer_;
  OperationKinds kinds_ = operation_kinds();
};

}  // namespace

std::string canonical_yaml(const sim::Program& program, const sim::Scenario& scenario) {
  Writer writer;
  write_section<sim::HardwareOptions>("hardware", scenario.hardware, hardware_fields(), writer);
  writer.open("program");
  write_fields<sim::Program>(program, program_fields(), writer);
  writer.open("threads");
  for (const sim::HostThread& thread : program.threads) {
    writer.open_item("rank: " + value_text(thread.rank));
    writer.scalar("name", value_text(thread.name));
    OperationWriter(writer).write_list(thread.operations);
    writer.close();
  }
  writer.close();
  writer.close();
  write_section<sim::RunOptions>("run", scenario.run, program_run_fields(), writer);
  return std::move(writer).text();
}

std::string canonical_yaml(const sim::Scenario& scenario,
                           const std::optional<placement::SearchOptions>& search) {
  Writer writer;
  write_models(scenario, writer);
  write_section<sim::HardwareOptions>("hardware", scenario.hardware, hardware_fields(), writer);
  write_parallel(scenario.parallel, writer);
  write_section<EngineOptions>("engine", scenario.engine, engine_fields(), writer);
  write_section<sim::ServingOptions>("serving", scenario.serving, serving_fields(), writer);
  writer.open("workload");
  write_kind("routing", scenario.workload.routing, routing_kinds(), writer);
  write_kind("drift", scenario.workload.drift, drift_kinds(), writer);
  write_fields<sim::WorkloadOptions>(scenario.workload, workload_fields(), writer);
  writer.close();
  write_eplb(scenario.eplb, writer);
  write_faults(scenario.faults, writer);
  write_section<sim::RunOptions>("run", scenario.run, run_fields(), writer);
  if (search.has_value()) {
    write_search(*search, writer);
  }
  return std::move(writer).text();
}

}  // namespace eplb::config
