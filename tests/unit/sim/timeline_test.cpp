// Goal: a timeline is what Perfetto opens: the trace-event format. Method: files are parsed again;
// every event has what its phase must have, of the right type, and slices of a track nest.
#include "eplb/sim/timeline.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "eplb/sim/program/program_run.hpp"
#include "eplb/sim/simulation.hpp"
#include "function_policy.hpp"
#include "scenarios.hpp"

namespace eplb::sim {
namespace {

using Json = nlohmann::json;

Json written(const Timeline& timeline) {
  std::ostringstream out;
  timeline.write(out);
  return Json::parse(out.str());
}

/// Nanoseconds of a time in microseconds with three decimals.
std::int64_t ns_of(const Json& us) {
  return std::llround(us.get<double>() * 1000);
}

std::vector<Json> with_phase(const Json& file, const std::string& phase) {
  std::vector<Json> events;
  for (const Json& event : file.at("traceEvents")) {
    if (event.at("ph") == phase) {
      events.push_back(event);
    }
  }
  return events;
}

using Track = std::pair<std::int64_t, std::int64_t>;
using Span = std::pair<std::int64_t, std::int64_t>;

Track track_of(const Json& event) {
  return {event.at("pid").get<std::int64_t>(), event.at("tid").get<std::int64_t>()};
}

void check_metadata(const Json& event) {
  const bool is_name = event.at("name") == "thread_name" || event.at("name") == "process_name";
  const Json& value = event.at("args").at(is_name ? "name" : "sort_index");
  CHECK((is_name ? value.is_string() : value.is_number_integer()));
}

/// What every event must have, by its phase.
void check_event(const Json& event) {
  REQUIRE(event.at("name").is_string());
  REQUIRE(event.at("ts").is_number());
  REQUIRE((event.at("pid").is_number_integer() && event.at("tid").is_number_integer()));
  REQUIRE(event.at("args").is_object());
  const auto phase = event.at("ph").get<std::string>();
  if (phase == "M") {
    check_metadata(event);
    return;
  }
  CHECK(event.at("cat").is_string());
  REQUIRE((phase == "X" || phase == "i"));
  CHECK((phase == "X" ? event.at("dur").is_number() : event.at("s") == "t"));
}

/// In the order of their begins, as they are written.
void check_nesting(const std::vector<Span>& spans) {
  std::vector<std::int64_t> open;
  for (const auto& [begin_ns, end_ns] : spans) {
    while (!open.empty() && open.back() <= begin_ns) {
      open.pop_back();
    }
    CHECK((open.empty() || end_ns <= open.back()));
    open.push_back(end_ns);
  }
}

/// What the trace-event format asks of a file.
void check_format(const Json& file) {
  CHECK(file.at("displayTimeUnit") == "ns");
  std::set<Track> named;
  std::map<Track, std::vector<Span>> slices;
  for (const Json& event : file.at("traceEvents")) {
    check_event(event);
    if (event.at("name") == "thread_name") {
      named.insert(track_of(event));
    }
    if (event.at("ph") == "X") {
      const std::int64_t begin_ns = ns_of(event.at("ts"));
      slices[track_of(event)].emplace_back(begin_ns, begin_ns + ns_of(event.at("dur")));
    }
  }
  for (const auto& entry : slices) {
    CHECK(named.contains(entry.first));
    check_nesting(entry.second);
  }
}

TEST_CASE("slices and instants come with their names, times and arguments") {
  Timeline timeline;
  const TrackId forward = timeline.track(3, "rank 3", "forward");
  CHECK(timeline.track(3, "rank 3", "forward") == forward);
  timeline.slice(forward, "a \"step\"\n\x80", "forward", 1'234'567, 2'000'001, {{"key", "value"}});
  timeline.instant(forward, "now", "control", 7);
  const Json file = written(timeline);
  check_format(file);
  const std::vector<Json> slices = with_phase(file, "X");
  REQUIRE(slices.size() == 1);
  CHECK(slices[0].at("name") == "a \"step\"\n\xef\xbf\xbd");
  CHECK(slices[0].at("pid") == 3);
  CHECK(ns_of(slices[0].at("ts")) == 1'234'567);
  CHECK(ns_of(slices[0].at("dur")) == 765'434);
  CHECK(slices[0].at("args") == Json{{"key", "value"}});
  const std::vector<Json> instants = with_phase(file, "i");
  REQUIRE(instants.size() == 1);
  CHECK(ns_of(instants[0].at("ts")) == 7);
}

TEST_CASE("slices that overlap come beside each other, those that nest or touch do not") {
  Timeline timeline;
  const TrackId track = timeline.track(0, "rank 0", "rows");
  timeline.slice(track, "inner", "", 20, 30);
  timeline.slice(track, "outer", "", 10, 50);
  timeline.slice(track, "next", "", 50, 60);
  timeline.slice(track, "overlapping", "", 40, 55);
  const Json file = written(timeline);
  check_format(file);
  std::map<std::string, std::int64_t> thread_of;
  for (const Json& slice : with_phase(file, "X")) {
    thread_of[slice.at("name").get<std::string>()] = slice.at("tid").get<std::int64_t>();
  }
  CHECK(thread_of["inner"] == thread_of["outer"]);
  CHECK(thread_of["next"] == thread_of["outer"]);
  CHECK(thread_of["overlapping"] == thread_of["outer"] + 1);
  std::set<std::string> names;
  for (const Json& meta : with_phase(file, "M")) {
    if (meta.at("name") == "thread_name") {
      names.insert(meta.at("args").at("name").get<std::string>());
    }
  }
  CHECK(names == std::set<std::string>{"rows", "rows (2)"});
}

TEST_CASE("what does not fit is counted and said") {
  Timeline timeline(2);
  const TrackId track = timeline.track(0, "rank 0", "track");
  for (std::int64_t at_ns = 0; at_ns < 5; ++at_ns) {
    timeline.instant(track, "x", "", at_ns);
  }
  CHECK(timeline.event_count() == 2);
  CHECK(timeline.left_out_count() == 3);
  CHECK(written(timeline).at("otherData").at("events_left_out") == "3");
}

TEST_CASE("a run shows its steps, rows, commits and rearrangements, and is the same run") {
  const Scenario scenario = test::small_scenario();
  Timeline timeline;
  const SimulationResult shown = simulate(scenario, test::rotating_policy(), {}, &timeline).value();
  const SimulationResult plain = simulate(scenario, test::rotating_policy(), {}).value();
  CHECK(shown.digest == plain.digest);
  const Json file = written(timeline);
  check_format(file);
  std::map<std::string, std::int64_t> count;
  std::set<std::int64_t> ranks;
  for (const Json& event : file.at("traceEvents")) {
    if (event.at("ph") != "M") {
      ++count[event.at("cat").get<std::string>()];
      ranks.insert(event.at("pid").get<std::int64_t>());
    }
  }
  CHECK(ranks == std::set<std::int64_t>{0, 1, 2, 3});
  std::int64_t commits = 0;
  std::int64_t moved = 0;
  for (const RearrangementReport& report : shown.rearrangements) {
    commits += report.rearrangement.committed_layers;
    moved += report.rearrangement.moved_experts;
  }
  CHECK(count["commit"] == commits * 4);
  CHECK(count["wire"] > 0);
  CHECK(count["wire"] <= 2 * moved);
  CHECK(count["rearrangement"] == 16 * static_cast<std::int64_t>(shown.rearrangements.size()));
  CHECK(count["control"] > 0);
  CHECK(count["copy"] > 0);
  // Three slices a step and rank; steps without a rearrangement are left out after a while.
  CHECK(count["forward"] >= 12 * 100);
  CHECK(count["forward"] <= 12 * shown.steps);
}

TEST_CASE("a program shows its kernels and threads, and a hang's circle as marked slices") {
  const auto rank = [](std::int32_t index, bool nccl_first) {
    const LaunchOp nccl{.stream = "comm",
                        .kind = KernelKind::kRendezvous,
                        .name = "NCCL",
                        .ctas = 8,
                        .smem_kb = 200,
                        .group = "nccl"};
    const LaunchOp experts{.stream = "forward",
                           .kind = KernelKind::kGangRendezvous,
                           .name = "experts",
                           .ctas = 132,
                           .smem_kb = 200,
                           .group = "experts"};
    HostThread thread{.rank = index, .name = "worker"};
    thread.operations = {
        {nccl_first ? nccl : experts}, {nccl_first ? experts : nccl}, {SyncOp{.device = true}}};
    return thread;
  };
  const Program program{.ranks = 2, .threads = {rank(0, true), rank(1, false)}};
  Timeline timeline;
  const ProgramResult result = run_program(program, 1, &timeline).value();
  REQUIRE(result.hang.has_value());
  const Json file = written(timeline);
  check_format(file);
  std::map<std::string, std::int64_t> count;
  std::set<std::int64_t> hanging_ranks;
  std::int64_t last_ns = 0;
  for (const Json& slice : with_phase(file, "X")) {
    ++count[slice.at("cat").get<std::string>()];
    const std::int64_t end_ns = ns_of(slice.at("ts")) + ns_of(slice.at("dur"));
    last_ns = std::max(last_ns, end_ns);
    if (slice.at("cat") == "hang") {
      hanging_ranks.insert(slice.at("pid").get<std::int64_t>());
      CHECK(end_ns > result.hang->at_ns);
      CHECK_FALSE(slice.at("args").at("waits for").get<std::string>().empty());
    }
  }
  CHECK(count["hang"] == static_cast<std::int64_t>(result.hang->explanation.size()));
  CHECK(hanging_ranks == std::set<std::int64_t>{0, 1});
  // Each rank's first kernel is resident for ever; six operations of hosts, two of them endless.
  CHECK(count["device"] == 2);
  CHECK(count["host"] == 6);
  CHECK(last_ns > result.simulated_ns);
  CHECK(run_program(program, 1)->digest == result.digest);
}

}  // namespace
}  // namespace eplb::sim
