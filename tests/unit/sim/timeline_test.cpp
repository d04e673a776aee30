// Goal: a timeline is what Perfetto opens: the trace-event format. Method: files are parsed again;
// every event has what its phase must have, of the right type, and slices of a track nest.
#include "eplb/sim/timeline.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

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
  return static_cast<std::int64_t>(us.get<double>() * 1000 + 0.5);
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

/// What the trace-event format asks of a file.
void check_format(const Json& file) {
  CHECK(file.at("displayTimeUnit") == "ns");
  std::set<std::pair<std::int64_t, std::int64_t>> named;
  std::map<std::pair<std::int64_t, std::int64_t>,
           std::vector<std::pair<std::int64_t, std::int64_t>>>
      slices;
  for (const Json& event : file.at("traceEvents")) {
    REQUIRE(event.at("name").is_string());
    REQUIRE(event.at("ts").is_number());
    REQUIRE(event.at("pid").is_number_integer());
    REQUIRE(event.at("tid").is_number_integer());
    REQUIRE(event.at("args").is_object());
    const std::pair track{event.at("pid").get<std::int64_t>(), event.at("tid").get<std::int64_t>()};
    const auto phase = event.at("ph").get<std::string>();
    if (phase == "M") {
      if (event.at("name") == "thread_name") {
        CHECK(event.at("args").at("name").is_string());
        named.insert(track);
      } else if (event.at("name") == "process_name") {
        CHECK(event.at("args").at("name").is_string());
      } else {
        CHECK(event.at("args").at("sort_index").is_number_integer());
      }
      continue;
    }
    REQUIRE(event.at("cat").is_string());
    REQUIRE((phase == "X" || phase == "i"));
    if (phase == "i") {
      CHECK(event.at("s") == "t");
      continue;
    }
    const std::int64_t begin_ns = ns_of(event.at("ts"));
    slices[track].emplace_back(begin_ns, begin_ns + ns_of(event.at("dur")));
  }
  for (auto& [track, spans] : slices) {
    CHECK(named.contains(track));
    std::vector<std::int64_t> open;
    for (const auto& [begin_ns, end_ns] : spans) {  // In order of their begins, as written.
      while (!open.empty() && open.back() <= begin_ns) {
        open.pop_back();
      }
      CHECK((open.empty() || end_ns <= open.back()));
      open.push_back(end_ns);
    }
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
  CHECK(count["commit"] == 4 * commits);
  CHECK(count["wire"] > 0);
  CHECK(count["wire"] <= 2 * moved);
  CHECK(count["rearrangement"] == 4 * 4 * static_cast<std::int64_t>(shown.rearrangements.size()));
  CHECK(count["control"] > 0);
  CHECK(count["copy"] > 0);
  // Three slices a step and rank; steps without a rearrangement are left out after a while.
  CHECK(count["forward"] >= 4 * 3 * 100);
  CHECK(count["forward"] <= 4 * 3 * shown.steps);
}

}  // namespace
}  // namespace eplb::sim
