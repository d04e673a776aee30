#include "fuzz_command.hpp"

#include <fmt/core.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "digest_text.hpp"
#include "eplb/cli/command_line.hpp"
#include "eplb/cli/output_file.hpp"
#include "eplb/cli/progress.hpp"
#include "eplb/cli/run.hpp"
#include "eplb/cli/table.hpp"
#include "eplb/core/digest.hpp"
#include "eplb/sim/trial/trial.hpp"
#include "seed_option.hpp"

namespace eplb::cli {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

CommandSyntax fuzz_syntax() {
  return {.name = "fuzz",
          .usage = "--seeds N [--first-seed S] [options]",
          .about =
              "Runs the balancer itself, one a rank, in simulated worlds: each seed draws a group, "
              "options,\ndelays and faults, and checks that no wrong weight is ever served, that "
              "all ranks agree, and\nthat nobody waits for ever. Stops at the first failure.",
          .example =
              "  eplb fuzz --seeds 200\n"
              "  eplb fuzz --seeds 200 --first-seed $(git rev-parse HEAD)",
          .positionals = {},
          .options = {{.name = "seeds",
                       .value_name = "N",
                       .help = "how many seeds, one after "
                               "another"},
                      {.name = "first-seed",
                       .value_name = "S",
                       .help = "the first: a number, or a commit of 40 hex digits (1)"},
                      json_option()}};
}

CommandSyntax replay_syntax() {
  return {
      .name = "replay",
      .usage = "--seed S [options]",
      .about =
          "Runs one world of `eplb fuzz` again: what it is made of, what it came to, and all "
          "promises\nthat were broken.",
      .example = "  eplb replay --seed 42",
      .positionals = {},
      .options = {{.name = "seed", .value_name = "S", .help = "as fuzz prints it"}, json_option()}};
}

Json violations_json(const sim::TrialResult& result) {
  Json list = Json::array();
  for (const sim::Violation& violation : result.violations) {
    list.push_back({{"time_ns", violation.time_ns}, {"what", violation.what}});
  }
  return list;
}

/// All trials of one command so far.
struct Campaign {
  std::int64_t seeds = 0;
  std::uint64_t events = 0;
  Digest digest;
  std::map<std::string, std::int64_t> reached;  ///< Seeds that came to each rare thing.
};

void print_reached(const Campaign& campaign, std::ostream& out) {
  Table table({Table::Align::kLeft, Table::Align::kRight});
  table.add({"reached", "seeds"});
  for (const auto& [what, seeds] : campaign.reached) {
    table.add({what, fmt::format("{}", seeds)});
  }
  table.print(out);
}

void print_violations(const sim::TrialResult& result, std::ostream& out) {
  for (const sim::Violation& violation : result.violations) {
    out << fmt::format("  at {:.3f} ms: {}\n", static_cast<double>(violation.time_ns) * 1e-6,
                       violation.what);
  }
}

}  // namespace

ExitCode run_fuzz(std::span<const std::string> arguments, const Streams& streams) {
  auto values = parse_command_line(fuzz_syntax(), arguments, streams);
  if (!values) {
    return values.error();
  }
  const std::int32_t seed_count = values->integer("seeds", {.min = 1});
  const std::uint64_t first = read_seed(*values, "first-seed", 1);
  const auto json_target = values->text("json");
  if (values->report_problems(streams)) {
    return ExitCode::kUsage;
  }
  auto json = OutputFile::open(json_target, streams.out);
  if (!json) {
    print_error(streams, "fuzz", json.error().message);
    return ExitCode::kUsage;
  }

  const auto begin = Clock::now();
  Progress progress(streams);
  Campaign campaign;
  std::optional<std::uint64_t> failed_seed;
  sim::TrialResult failure;
  for (std::int32_t index = 0; index < seed_count; ++index) {
    const std::uint64_t seed = first + static_cast<std::uint64_t>(index);
    sim::TrialResult result = sim::run_trial(sim::draw_swarm(seed));
    ++campaign.seeds;
    campaign.events += result.events;
    campaign.digest.add(static_cast<std::int64_t>(result.digest));
    for (const std::string& what : result.reached) {
      ++campaign.reached[what];
    }
    if (!result.violations.empty()) {
      failed_seed = seed;
      failure = std::move(result);
      break;
    }
    const double elapsed_s = std::chrono::duration<double>(Clock::now() - begin).count();
    progress.show(fmt::format("{} of {} seeds, {:.0f} s left", campaign.seeds, seed_count,
                              elapsed_s * (seed_count - index - 1) / (index + 1)));
  }
  progress.clear();
  const double elapsed_s = std::chrono::duration<double>(Clock::now() - begin).count();

  const Json document{{"schema", "eplb.fuzz/1"},
                      {"version", std::string(version())},
                      {"first_seed", first},
                      {"seeds", campaign.seeds},
                      {"events", campaign.events},
                      {"digest", digest_text(campaign.digest.value())},
                      {"failed_seed", failed_seed ? Json(*failed_seed) : Json(nullptr)},
                      {"violations", violations_json(failure)},
                      {"reached", campaign.reached}};
  if (const auto written = json->write(document); !written) {
    print_error(streams, "fuzz", written.error().message);
    return ExitCode::kUsage;
  }
  std::ostream& out = json->takes_standard_output() ? streams.err : streams.out;
  print_reached(campaign, out);
  out << fmt::format("{} events in {:.1f} s, {:.3f} s a seed\n", campaign.events, elapsed_s,
                     elapsed_s / static_cast<double>(campaign.seeds));
  if (failed_seed) {
    print_violations(failure, out);
    out << fmt::format("FAILED seed={} replay: eplb replay --seed {}\n", *failed_seed,
                       *failed_seed);
    return ExitCode::kFailureFound;
  }
  out << fmt::format("PASSED seeds={} digest={}\n", campaign.seeds,
                     digest_text(campaign.digest.value()));
  return ExitCode::kDone;
}

ExitCode run_replay(std::span<const std::string> arguments, const Streams& streams) {
  auto values = parse_command_line(replay_syntax(), arguments, streams);
  if (!values) {
    return values.error();
  }
  if (!values->has("seed")) {
    values->note_problem("--seed: is required");
  }
  const std::uint64_t seed = read_seed(*values, "seed", 1);
  const auto json_target = values->text("json");
  if (values->report_problems(streams)) {
    return ExitCode::kUsage;
  }
  auto json = OutputFile::open(json_target, streams.out);
  if (!json) {
    print_error(streams, "replay", json.error().message);
    return ExitCode::kUsage;
  }
  const sim::Swarm swarm = sim::draw_swarm(seed);
  const sim::TrialResult result = sim::run_trial(swarm);
  const Json document{{"schema", "eplb.replay/1"},
                      {"version", std::string(version())},
                      {"seed", seed},
                      {"steps", result.steps},
                      {"events", result.events},
                      {"digest", digest_text(result.digest)},
                      {"end", result.end ? Json(describe(result.end)) : Json(nullptr)},
                      {"violations", violations_json(result)},
                      {"reached", result.reached}};
  if (const auto written = json->write(document); !written) {
    print_error(streams, "replay", written.error().message);
    return ExitCode::kUsage;
  }
  std::ostream& out = json->takes_standard_output() ? streams.err : streams.out;
  out << fmt::format("seed {}\n{}", seed, sim::describe(swarm));
  for (const std::string& what : result.reached) {
    out << fmt::format("reached: {}\n", what);
  }
  if (result.end) {
    out << fmt::format("the group ended: {}\n", describe(result.end));
  }
  print_violations(result, out);
  out << fmt::format("{} seed={} steps={} events={} digest={}\n",
                     result.violations.empty() ? "PASSED" : "FAILED", seed, result.steps,
                     result.events, digest_text(result.digest));
  return result.violations.empty() ? ExitCode::kDone : ExitCode::kFailureFound;
}

}  // namespace eplb::cli
