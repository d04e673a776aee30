#include <string>
#include <tuple>
#include <type_traits>
#include <variant>

#include "eplb/config/config.hpp"
#include "fields.hpp"
#include "words.hpp"

namespace eplb::config {
namespace {

constexpr std::string_view kPreface = R"(# Configuration

One YAML file describes a scenario; `quickstart.yaml` is one to start from. `model` and `hardware` are
a mapping of the keys below, or the name of a file in `models/` and `hardware/`, or a path to one (it
has a slash, or ends in `.yaml`). A path in a file is relative to that file.

Numbers are decimal; GB are 10^9 bytes. A key that is not below is refused, as is a value of another
type or out of range; all that is wrong is reported at once, with its place. `--set key=value`
overrides a key, as in `--set eplb.window_size=100`; a path in it is relative to the current directory.

This page is generated from the tables that the program reads files by.
)";

template <typename T>
std::string type_name(const T& /*initial*/, const Range& /*range*/) {
  return "one of " + join(enum_words<T>());
}

std::string type_name(bool /*initial*/, const Range& /*range*/) {
  return "true or false";
}

std::string type_name(const std::string& /*initial*/, const Range& /*range*/) {
  return "text";
}

std::string type_name(double /*initial*/, const Range& range) {
  return describe(range);
}

std::string type_name(const std::optional<double>& /*initial*/, const Range& range) {
  return describe(range) + ", or none";
}

std::string type_name(std::uint64_t /*initial*/, const Range& /*range*/) {
  return "whole, from 0 to 2^64 - 1";
}

std::string type_name(std::int32_t /*initial*/, const Range& range) {
  return "whole, " + describe(range);
}

std::string type_name(std::int64_t /*initial*/, const Range& range) {
  return "whole, " + describe(range);
}

/// Columns `allowed` and `default` of a key.
template <typename S>
std::pair<std::string, std::string> value_columns(const Field<S>& field) {
  const S initial{};
  std::string allowed;
  std::string absent;
  const auto describe_member = [&](const auto& member) {
    using Kept = std::decay_t<decltype(member)>;
    if constexpr (std::is_member_object_pointer_v<Kept>) {
      allowed = type_name(initial.*member, field.range);
      absent = value_text(initial.*member);
    } else if constexpr (std::is_same_v<Kept, FreeText>) {
      allowed = "text";
    } else if constexpr (std::is_same_v<Kept, FigureSources>) {
      allowed = "mapping from keys to texts";
    } else {
      allowed = member.type;
    }
  };
  std::visit(describe_member, field.member);
  if (field.required) {
    return {allowed, "required"};
  }
  return {allowed, field.default_help.empty() ? absent : std::string(field.default_help)};
}

template <typename S>
std::string table(Fields<S> fields) {
  std::string text = "| key | allowed | default | unit | meaning |\n|---|---|---|---|---|\n";
  for (const Field<S>& field : fields) {
    const auto [allowed, absent] = value_columns(field);
    text += "| `" + std::string(field.key) + "` | " + allowed + " | " + absent + " | " +
            std::string(field.unit) + " | " + std::string(field.help) + " |\n";
  }
  return text;
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

}  // namespace

std::string schema_markdown() {
  return std::string(kPreface) + section<ModelOptions>("model", model_fields()) +
         section<sim::HardwareOptions>("hardware", hardware_fields()) +
         section<ParallelOptions>("parallel", parallel_fields()) +
         section<sim::ServingOptions>("serving", serving_fields()) +
         section<sim::WorkloadOptions>("workload", workload_fields()) +
         kinds_section("workload.routing", routing_kinds()) +
         section<sim::DomainsRouting::Phase>("workload.routing.schedule, each phase",
                                             phase_fields()) +
         kinds_section("workload.drift", drift_kinds()) +
         section<EplbOptions>("eplb", eplb_fields()) +
         section<sim::RunOptions>("run", run_fields());
}

}  // namespace eplb::config
