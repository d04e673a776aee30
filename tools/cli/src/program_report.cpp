#include "program_report.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "digest_text.hpp"
#include "eplb/cli/run.hpp"

namespace eplb::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kSecondsPerNs = 1e-9;
constexpr double kMsPerNs = 1e-6;

Json hang_json(const std::optional<sim::Hang>& hang) {
  if (!hang.has_value()) {
    return nullptr;
  }
  return {{"at_s", static_cast<double>(hang->at_ns) * kSecondsPerNs},
          {"kind", std::string(to_string(hang->kind))},
          {"explanation", waits_json(hang->explanation)},
          {"advice", hang->advice}};
}

std::string_view headline(sim::HangKind kind) {
  switch (kind) {
    case sim::HangKind::kDeadlock:
      return "deadlock: each of these waits for the next, the last for the first";
    case sim::HangKind::kLostMessage:
      return "lost message: nothing wakes who waits for it";
    case sim::HangKind::kMissingPeer:
      return "missing peer: the first waits for what nobody will do";
    case sim::HangKind::kStall:
      return "silent stall: the rest goes on, and this waits without end";
  }
  return "";
}

}  // namespace

Json waits_json(const std::vector<sim::Wait>& waits) {
  Json list = Json::array();
  for (const sim::Wait& wait : waits) {
    list.push_back({{"rank", wait.rank},
                    {"operation", wait.operation},
                    {"holds", wait.holds},
                    {"waits_for", wait.waits_for}});
  }
  return list;
}

Json hazards_json(const std::vector<sim::Hazard>& hazards) {
  Json list = Json::array();
  for (const sim::Hazard& hazard : hazards) {
    list.push_back({{"kind", hazard.kind},
                    {"explanation", waits_json(hazard.explanation)},
                    {"advice", hazard.advice}});
  }
  return list;
}

void print_waits(const std::vector<sim::Wait>& waits, const std::string& prefix,
                 std::ostream& out) {
  int number = 0;
  for (const sim::Wait& wait : waits) {
    const std::string holds =
        wait.holds.empty() ? std::string() : fmt::format(" holds {} and", wait.holds);
    out << fmt::format("{}{}. rank {}: {}{} waits for {}\n", prefix, ++number, wait.rank,
                       wait.operation, holds, wait.waits_for);
  }
}

void print_hazards(const std::vector<sim::Hazard>& hazards, const std::string& prefix,
                   std::ostream& out) {
  for (const sim::Hazard& hazard : hazards) {
    out << fmt::format("{}hazard ({}): could hang on another schedule\n", prefix, hazard.kind);
    print_waits(hazard.explanation, prefix + "  ", out);
    out << fmt::format("{}  what to change: {}\n", prefix, hazard.advice);
  }
}

Json program_json(const ProgramReport& report) {
  Json json;
  json["schema"] = "eplb.sim/1";
  json["version"] = std::string(version());
  json["seed"] = report.config.scenario.run.seed;
  json["config_digest"] = digest_text(report.config.digest);
  json["simulated_s"] = static_cast<double>(report.result.simulated_ns) * kSecondsPerNs;
  json["wall_s"] = report.wall_s;
  json["host_operations"] = report.result.host_operation_count;
  json["device_operations"] = report.result.device_operation_count;
  json["sweep"] = {{"runs", report.sweep.runs}, {"hangs", report.sweep.hangs}};
  json["hang"] = hang_json(report.result.hang);
  json["hazards"] = hazards_json(report.hazards);
  json["digest"] = digest_text(report.result.digest);
  return json;
}

void print_program(const ProgramReport& report, std::ostream& out) {
  const sim::Program& program = *report.config.program;
  out << fmt::format("eplb {} sim {}, seed {}, config {}\n", version(), report.config_file,
                     report.config.scenario.run.seed, digest_text(report.config.digest));
  out << fmt::format("program: {} host threads on {} ranks of {} with {} SMs\n\n",
                     program.threads.size(), program.ranks, report.config.scenario.hardware.device,
                     program.processor.sm_count);
  if (const auto& hang = report.result.hang; hang.has_value()) {
    out << fmt::format("HANG at {:.3f} ms, {}\n", static_cast<double>(hang->at_ns) * kMsPerNs,
                       headline(hang->kind));
    print_waits(hang->explanation, "  ", out);
    out << "what to change: " << hang->advice << "\n";
  } else if (report.result.was_left) {
    out << fmt::format("no hang in {:.3f} ms; the program would go on\n",
                       static_cast<double>(report.result.simulated_ns) * kMsPerNs);
  } else {
    out << fmt::format("no hang: all done after {:.3f} ms\n",
                       static_cast<double>(report.result.simulated_ns) * kMsPerNs);
  }
  if (report.sweep.runs > 0) {
    out << fmt::format("with up to {} us of jitter before each operation: {} of {} runs hang\n",
                       program.sweep_jitter_us, report.sweep.hangs, report.sweep.runs);
  }
  print_hazards(report.hazards, "", out);
  out << fmt::format("{} host and {} GPU operations in {:.2f} s; digest {}\n",
                     report.result.host_operation_count, report.result.device_operation_count,
                     report.wall_s, digest_text(report.result.digest));
}

}  // namespace eplb::cli
