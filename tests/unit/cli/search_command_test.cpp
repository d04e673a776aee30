// Goal: `eplb search` judges what its section spans, keeps its contract with programs, and gives
// the same bytes from any number of threads, from shards and after an interruption. Method: whole
// searches of a tiny scenario in this process.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "print_vector.hpp"
#include "run_eplb.hpp"
#include "search_scenario.hpp"
#include "temp_folder.hpp"

namespace eplb {
namespace {

using doctest::Approx;
using Json = nlohmann::ordered_json;
using Strings = std::vector<std::string>;

Strings keys_of(const Json& object) {
  Strings keys;
  for (const auto& item : object.items()) {
    keys.push_back(item.key());
  }
  return keys;
}

std::size_t line_count(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

/// Searches of one scenario, and files beside it.
class SearchRun {
 public:
  explicit SearchRun(const std::string& text = test::search_scenario())
      : file_(folder_.write("tiny.yaml", text).string()) {}

  [[nodiscard]] test::Outcome search(Strings options = {}) const {
    options.insert(options.begin(), {"search", file_});
    return test::run_eplb(options);
  }

  [[nodiscard]] std::string json_text(Strings options = {}) const {
    options.insert(options.end(), {"--json", "-"});
    const test::Outcome outcome = search(std::move(options));
    CHECK(outcome.err == "");
    CHECK(outcome.code == 0);
    return outcome.out;
  }

  [[nodiscard]] Json json(Strings options = {}) const {
    return Json::parse(json_text(std::move(options)));
  }

  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_.path() / name).string();
  }

  [[nodiscard]] const std::string& file() const { return file_; }

 private:
  test::TempFolder folder_;
  std::string file_;
};

TEST_CASE("search writes the keys of its contract in their order") {
  const Json json = SearchRun().json();
  CHECK(keys_of(json) == Strings{"schema", "version", "config_digest", "method", "objectives",
                                 "space", "rungs", "seeds", "confirm_seeds", "runs", "base",
                                 "candidates", "front", "best", "sentence"});
  CHECK(json["schema"] == "eplb.search/1");
  CHECK(json["method"] == "grid");
  CHECK(json["objectives"][1] == Json{{"name", "p99_step"}, {"unit", "ms"}, {"better", "less"}});
  CHECK(json["space"] == 8);
  CHECK(json["seeds"] == Json{1, 2, 3});
  CHECK(json["confirm_seeds"] == Json{4, 5});
  CHECK(json["rungs"] == Json::array({{{"steps", 60}, {"seeds", 3}, {"candidates", 2}}}));
  const Strings objectives{"throughput", "p99_step", "memory", "moved_bytes"};
  CHECK(keys_of(json["base"]) == Strings{"objectives", "confirmed"});
  CHECK(keys_of(json["base"]["objectives"]) == objectives);
  CHECK(keys_of(json["best"]) == objectives);
  REQUIRE_FALSE(json["front"].empty());
  const Json& member = json["front"][0];
  CHECK(keys_of(member) == Strings{"candidate", "settings", "stays", "objectives"});
  CHECK(keys_of(member["objectives"]) == objectives);
  CHECK(keys_of(member["objectives"]["memory"]) ==
        Strings{"mean", "gain", "gain_low", "gain_high", "better"});
}

TEST_CASE("search says of every setting what became of it") {
  const Json list = SearchRun().json()["candidates"];
  Strings states;
  for (const Json& candidate : list) {
    states.push_back(candidate["state"]);
  }
  REQUIRE(states.size() == 8);
  // 8 + 1 experts do not divide over 2 ranks. `default` has no price, and with 2 redundant slots is
  // the base; `robust` has one.
  CHECK(Strings(states.begin(), states.begin() + 4) ==
        Strings{"invalid", "invalid", "same", "same"});
  CHECK(list[0]["reason"].get<std::string>().starts_with(
      "eplb.num_redundant_experts: 8 experts + 1 redundant do not divide over 2 ranks"));
  CHECK(list[2]["same_as"] == nullptr);
  CHECK(list[2]["settings"] == Json{{"eplb.policy", "default"}, {"eplb.num_redundant_experts", 2}});
  CHECK(list[6]["settings"] == Json{{"eplb.policy", "robust"},
                                    {"eplb.num_redundant_experts", 2},
                                    {"policy.price", 0.001}});
  for (const std::size_t robust : {std::size_t{6}, std::size_t{7}}) {
    CHECK((states[robust] == "front" || states[robust] == "dominated"));
    CHECK(list[robust]["rung"] == 0);
  }
}

TEST_CASE("a candidate's figures are those of its runs in sim, seed by seed") {
  const SearchRun run;
  const Json search = run.json();
  const Json& candidate = search["candidates"][7];
  double sum = 0;
  double gain = 0;
  double moved = 0;
  for (const std::string seed : {"1", "2", "3"}) {
    const auto sim = [&](const Strings& options) {
      Strings arguments{"sim", run.file(), "--json", "-", "--set", "run.seed=" + seed};
      arguments.insert(arguments.end(), options.begin(), options.end());
      return Json::parse(test::run_eplb(arguments).out);
    };
    const Json own = sim({"--set", "eplb.policy=robust:price=0.1"});
    const double base = sim({})["throughput_tokens_per_s"];
    sum += own["throughput_tokens_per_s"].get<double>() / 3;
    gain += (own["throughput_tokens_per_s"].get<double>() / base - 1) / 3;
    for (const Json& rearrangement : own["rearrangements"]) {
      moved += rearrangement["bytes"].get<double>() / 3;
    }
    CHECK(candidate["objectives"]["memory"]["mean"].get<double>() ==
          own["memory_bytes"]["weights"].get<double>() +
              own["memory_bytes"]["landing"].get<double>() +
              own["memory_bytes"]["maps"].get<double>());
  }
  CHECK(candidate["objectives"]["throughput"]["mean"].get<double>() == Approx(sum).epsilon(1e-12));
  CHECK(candidate["objectives"]["throughput"]["gain"].get<double>() == Approx(gain).epsilon(1e-9));
  CHECK(candidate["objectives"]["moved_bytes"]["mean"].get<double>() == Approx(moved));
}

TEST_CASE("a search is the same bytes for any number of threads") {
  const SearchRun run;
  const std::string one = run.json_text({"--threads", "1"});
  CHECK(run.json_text({"--threads", "2"}) == one);
  CHECK(run.json_text({"--threads", "5"}) == one);
  CHECK(run.search({"--threads", "1"}).out == run.search({"--threads", "3"}).out);
  CHECK(run.json_text({"--set", "run.seed=9"}) != one);
}

TEST_CASE("a search goes on from its journal, whose last line may be torn") {
  const SearchRun run;
  const std::string whole = run.json_text();
  const std::string journal = run.path("whole.jsonl");
  CHECK(run.json_text({"--journal", journal, "--threads", "1"}) == whole);
  const std::string text = test::read_file(journal);
  const Json result = Json::parse(whole);
  CHECK(line_count(text) == 1 + result["runs"].get<std::size_t>());
  // Cut anywhere, within a line or between two, it ends in the same result and is whole again.
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{9}, text.find('\n') + 1, text.size() / 2, text.size() - 1}) {
    CAPTURE(length);
    const test::TempFolder folder;
    const std::string cut = folder.write("cut.jsonl", text.substr(0, length)).string();
    CHECK(run.json_text({"--journal", cut, "--threads", "1"}) == whole);
    CHECK(line_count(test::read_file(cut)) == line_count(text));
  }
  // With all of it known nothing is run: a wrong figure in it comes out.
  std::string changed = text;
  const std::string key = "\"throughput\":";
  changed.insert(changed.find(key) + key.size(), "9");
  const test::TempFolder folder;
  CHECK(run.json_text({"--journal", folder.write("c.jsonl", changed).string()}) != whole);
}

TEST_CASE("shards put together are the whole, whatever each of them has done") {
  for (const std::string method : {"grid", "successive_halving"}) {
    CAPTURE(method);
    const SearchRun run;
    const Strings set{"--set", "search.method=" + method};
    const auto with = [&](Strings options) {
      options.insert(options.end(), set.begin(), set.end());
      return options;
    };
    const std::string whole = run.json_text(set);
    Strings merges;
    std::size_t evaluated = 0;
    for (const std::string part : {"1/3", "2/3", "3/3"}) {
      const std::string journal = run.path(part.substr(0, 1) + ".jsonl");
      const test::Outcome outcome = run.search(with({"--shard", part, "--journal", journal}));
      CHECK(outcome.code == 0);
      CHECK(outcome.out.starts_with("shard " + part + ": "));
      evaluated += line_count(test::read_file(journal)) - 1;
      merges.insert(merges.end(), {"--merge", journal});
    }
    // The base and two candidates, on 3 seeds or in a first rung on 1.
    CHECK(evaluated == (method == "grid" ? 9 : 3));
    CHECK(run.json_text(with(merges)) == whole);
    CHECK(run.json_text(with({"--merge", run.path("2.jsonl")})) == whole);
    // The next round's runs are dealt in the same way, to who has the first round's journals.
    Strings next = merges;
    next.insert(next.end(), {"--shard", "1/2", "--journal", run.path("next.jsonl")});
    CHECK(run.search(with(next)).out.starts_with("shard 1/2: "));
  }
}

TEST_CASE("a journal of another search is refused, and so is what is no journal") {
  const SearchRun run;
  const std::string journal = run.path("j.jsonl");
  CHECK(run.search({"--journal", journal}).code == 0);
  const test::Outcome other = run.search({"--journal", journal, "--set", "search.budget.seeds=2"});
  CHECK(other.code == 2);
  CHECK(other.out == "");
  CHECK(other.err.starts_with(journal + ":1: error: config_digest: is \""));
  const test::Outcome no_journal = run.search({"--merge", run.file()});
  CHECK(no_journal.code == 2);
  CHECK(no_journal.err.starts_with(run.file() + ":1: error: is no line of a search's journal"));
  CHECK(run.search({"--merge", run.path("none.jsonl")}).code == 2);
  CHECK(run.search({"--journal", run.path("no/folder.jsonl")}).code == 2);
}

TEST_CASE("search refuses what does not go with it") {
  const SearchRun run;
  const auto refused = [&](const Strings& options, const std::string& message) {
    const test::Outcome outcome = run.search(options);
    CHECK(outcome.code == 2);
    CHECK(outcome.out == "");
    CHECK(outcome.err.find(message) != std::string::npos);
  };
  refused({"--shard", "3/2", "--journal", run.path("j")},
          "--shard: must be I/N with I from 1 to N");
  refused({"--shard", "1"}, "--shard: must be I/N");
  refused({"--shard", "1/2"}, "--shard: needs --journal");
  refused({"--threads", "0"}, "--threads: must be");
  const SearchRun without(test::kScenario);
  const test::Outcome outcome = without.search();
  CHECK(outcome.code == 2);
  CHECK(outcome.err.starts_with(without.file() + ":1:1: error: search: is missing"));
}

TEST_CASE("search prints the front, what is better how surely, and a sentence") {
  const test::Outcome outcome = SearchRun().search();
  CHECK(outcome.code == 0);
  const auto has = [&](const std::string& part) {
    CAPTURE(part);
    CHECK(outcome.out.find(part) != std::string::npos);
  };
  has("grid: 8 of 8 settings: eplb.policy (2), eplb.num_redundant_experts (2), policy.price (2)\n");
  has("2 were judged beside the base, 0 of them failed; 2 the same as another, 4 no legal "
      "configuration\n");
  has("2 settings on 3 seeds of 60 steps\n");
  has("policy=default num_redundant_experts=1 and 3 more: eplb.num_redundant_experts: 8 experts "
      "+ ");
  has("tokens/s  p99 step, ms  memory, GB  moved, GB  stays\n");
  has("\nbest by throughput 1");
  has(" fresh seeds)");
  CHECK(outcome.err.empty());
}

TEST_CASE("a search that finds nothing better says so") {
  const SearchRun run(test::search_scenario(60, "{policy: [deepseek], redundancy: [4]}"));
  const Json json = run.json({"--set", "search.objectives=[memory]"});
  REQUIRE(json["front"].size() == 1);
  CHECK(json["front"][0]["candidate"] == nullptr);
  CHECK(json["candidates"][0]["state"] == "dominated");
  CHECK(json["candidates"][0]["objectives"]["memory"]["better"] == 0.0);
  CHECK(json["sentence"] ==
        "No setting is better than the base in anything: of 1 that were judged, it alone is on the "
        "front.");
}

}  // namespace
}  // namespace eplb
