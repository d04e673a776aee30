#include "program.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "fields.hpp"
#include "words.hpp"

namespace eplb::config {
namespace {

/// A key that outlives the walk through the section, and its place.
struct WrittenAt {
  std::string key;
  Position at;
};

/// Where the operations of a thread stand, counted as sim::ProgramProblem does.
using Places = std::vector<WrittenAt>;

class OperationReader {
 public:
  OperationReader(Places& places, Reading& reading) : places_(places), reading_(reading) {}

  // NOLINTNEXTLINE(misc-no-recursion): a tree is walked, whose depth the YAML reader bounds.
  std::vector<sim::Operation> read_list(const Section& parent) {
    std::vector<sim::Operation> operations;
    const std::string key = parent.key_of("do");
    const Yaml* list = parent.yaml == nullptr ? nullptr : find(*parent.yaml, "do");
    if (list == nullptr || !reading_.sound({key})) {
      return operations;
    }
    if (list->kind != YamlKind::kList) {
      reading_.reject(list->at, key, "must be a list of operations, got " + describe(*list));
      return operations;
    }
    for (const Yaml& item : list->children) {
      read_one(key + "[" + std::to_string(operations.size()) + "]", item, operations);
    }
    return operations;
  }

 private:
  // NOLINTNEXTLINE(misc-no-recursion): as read_list.
  void read_one(const std::string& key, const Yaml& item, std::vector<sim::Operation>& operations) {
    const std::vector<std::string_view> names = operation_names();
    if (item.kind != YamlKind::kMapping || item.children.size() != 1) {
      reading_.reject(
          item.at, key,
          "must be a mapping from one of " + join(names) + " to its keys, got " + describe(item));
      return;
    }
    const Yaml& keys = item.children.front();
    if (std::ranges::find(names, keys.key) == names.end()) {
      reading_.reject(keys.key_at, key, unknown("operation", keys.key, names));
      return;
    }
    const Section section{.key = key + "." + keys.key, .yaml = &keys};
    reading_.set_position(section.key, keys.at);
    places_.push_back({.key = key, .at = keys.key_at});
    const auto read_if_named = [&]<typename One>(const Kind<One>& kind) {
      if (kind.name == keys.key) {
        operations.push_back({.what = read_fields<One>(section, kind.fields, reading_)});
      }
    };
    std::apply([&](const auto&... kind) { (read_if_named(kind), ...); }, operation_kinds());
    if (auto* repeat = std::get_if<sim::RepeatOp>(&operations.back().what); repeat != nullptr) {
      repeat->body = read_list(section);
    }
  }

  static std::vector<std::string_view> operation_names() {
    std::vector<std::string_view> names;
    std::apply([&](const auto&... kind) { (names.push_back(kind.name), ...); }, operation_kinds());
    return names;
  }

  Places& places_;
  Reading& reading_;
};

sim::HostThread read_thread(const Section& section, Places& places, Reading& reading) {
  auto thread = read_fields<sim::HostThread>(section, host_thread_fields(), reading);
  thread.operations = OperationReader(places, reading).read_list(section);
  return thread;
}

void report_problems(const sim::Program& program, const std::vector<WrittenAt>& threads,
                     const std::vector<Places>& places, Reading& reading) {
  for (const sim::ProgramProblem& problem : sim::problems_of(program)) {
    const auto thread = static_cast<std::size_t>(problem.thread);
    const WrittenAt& where = problem.operation < 0
                                 ? threads[thread]
                                 : places[thread][static_cast<std::size_t>(problem.operation)];
    reading.reject(where.at, where.key, problem.message);
  }
}

}  // namespace

sim::Program read_program(const Section& section, const sim::HardwareOptions& hardware,
                          Reading& reading) {
  auto program = read_fields<sim::Program>(section, program_fields(), reading);
  program.processor = {.sm_count = hardware.sm_count,
                       .ctas_per_sm = hardware.ctas_per_sm,
                       .threads_per_sm = hardware.threads_per_sm,
                       .registers_per_sm = hardware.registers_per_sm,
                       .shared_memory_per_sm_kb = hardware.shared_memory_per_sm_kb};
  program.copy_bandwidth_gb_per_s = hardware.peer_copy_bandwidth_gb_per_s;
  program.copy_start_us = hardware.peer_copy_start_us;
  const std::string key = section.key_of("threads");
  const Yaml* list = section.yaml == nullptr ? nullptr : find(*section.yaml, "threads");
  if (list == nullptr || !reading.sound({key})) {
    return program;
  }
  if (list->kind != YamlKind::kList || list->children.empty()) {
    reading.reject(list->at, key, "must be a list of host threads, got " + describe(*list));
    return program;
  }
  std::vector<WrittenAt> threads;
  std::vector<Places> places;
  for (const Yaml& item : list->children) {
    const Section thread{.key = key + "[" + std::to_string(threads.size()) + "]", .yaml = &item};
    reading.set_position(thread.key, item.at);
    threads.push_back({.key = thread.key, .at = item.at});
    places.emplace_back();
    program.threads.push_back(read_thread(thread, places.back(), reading));
  }
  if (reading.clean()) {
    report_problems(program, threads, places, reading);
  }
  return program;
}

}  // namespace eplb::config
