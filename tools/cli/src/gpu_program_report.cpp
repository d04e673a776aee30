#include "gpu_program_report.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <ostream>
#include <string_view>
#include <vector>

#include "digest_text.hpp"
#include "eplb/cli/run.hpp"
#include "program_report.hpp"

namespace eplb::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMsPerNs = 1e-6;

std::vector<sim::Wait> in_words_of_sim(const std::vector<gpu::program::Wait>& waits) {
  std::vector<sim::Wait> links;
  links.reserve(waits.size());
  for (const gpu::program::Wait& wait : waits) {
    links.push_back({.rank = wait.rank,
                     .operation = wait.operation,
                     .holds = wait.holds,
                     .waits_for = wait.waits_for});
  }
  return links;
}

Json hang_json(std::int64_t at_ns, std::string_view kind, const std::vector<sim::Wait>& waits) {
  return {{"at_ms", static_cast<double>(at_ns) * kMsPerNs},
          {"kind", std::string(kind)},
          {"explanation", waits_json(waits)}};
}

Json measured_hang(const gpu::program::ProgramOutcome& outcome) {
  if (!outcome.hang) {
    return nullptr;
  }
  return hang_json(outcome.hang->at_ns, to_string(outcome.hang->kind),
                   in_words_of_sim(outcome.hang->explanation));
}

Json predicted_hang(const sim::ProgramResult& result) {
  if (!result.hang) {
    return nullptr;
  }
  return hang_json(result.hang->at_ns, to_string(result.hang->kind), result.hang->explanation);
}

std::string verdict(bool hangs, std::string_view kind) {
  return hangs ? "hangs (" + std::string(kind) + ")" : std::string("ends");
}

}  // namespace

Json gpu_program_json(const GpuProgramReport& report) {
  Json json;
  json["schema"] = "eplb.sim/1";
  json["version"] = std::string(version());
  json["seed"] = report.config.scenario.run.seed;
  json["config_digest"] = digest_text(report.config.digest);
  json["measured"] = true;
  json["run_ms"] = static_cast<double>(report.measured.run_ns) * kMsPerNs;
  json["devices"] = report.measured.devices;
  json["hang"] = measured_hang(report.measured);
  json["predicted"] = {{"hang", predicted_hang(report.predicted)}};
  json["notes"] = report.measured.notes;
  return json;
}

void print_gpu_program(const GpuProgramReport& report, std::ostream& out) {
  const auto& measured = report.measured.hang;
  const auto& predicted = report.predicted.hang;
  out << fmt::format("eplb {} run {}\n", version(), report.config_file);
  out << fmt::format("on these GPUs it {}, the simulator says that it {}\n",
                     verdict(measured.has_value(), measured ? to_string(measured->kind) : ""),
                     verdict(predicted.has_value(), predicted ? to_string(predicted->kind) : ""));
  if (measured) {
    print_waits(in_words_of_sim(measured->explanation), "  ", out);
    if (predicted) {
      out << "what to change: " << predicted->advice << '\n';
    }
  }
  for (const std::string& note : report.measured.notes) {
    out << "note: " << note << '\n';
  }
  out << fmt::format("{} host operations and {} on devices in {:.1f} ms\n",
                     report.measured.host_operation_count, report.measured.device_operation_count,
                     static_cast<double>(report.measured.run_ns) * kMsPerNs);
}

}  // namespace eplb::cli
