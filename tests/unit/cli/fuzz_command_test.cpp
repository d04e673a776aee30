// Goal: `eplb fuzz` and `eplb replay` keep their contract with people and programs: exit codes,
// last lines, keys, seeds. Method: whole runs of a few seeds.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "run_eplb.hpp"

namespace eplb {
namespace {

using Json = nlohmann::ordered_json;
using Keys = std::vector<std::string>;

Keys keys_of(const Json& object) {
  Keys keys;
  for (const auto& item : object.items()) {
    keys.push_back(item.key());
  }
  return keys;
}

std::string last_line(const std::string& text) {
  const std::string body = text.substr(0, text.size() - 1);
  return body.substr(body.rfind('\n') + 1);
}

TEST_CASE("fuzz says how many seeds passed and folds them into one digest, twice the same") {
  const test::Outcome outcome = test::run_eplb({"fuzz", "--seeds", "3"});
  CHECK(outcome.code == 0);
  CHECK(outcome.err.empty());
  const std::string last = last_line(outcome.out);
  CHECK(last.starts_with("PASSED seeds=3 digest="));
  CHECK(last.size() == std::string("PASSED seeds=3 digest=").size() + 16);
  CHECK(outcome.out.starts_with("reached"));
  CHECK(last_line(test::run_eplb({"fuzz", "--seeds", "3", "--first-seed", "1"}).out) == last);
  CHECK(last_line(test::run_eplb({"fuzz", "--seeds", "3", "--first-seed", "2"}).out) != last);
}

TEST_CASE("fuzz writes its keys in their order") {
  const test::Outcome outcome =
      test::run_eplb({"fuzz", "--seeds", "2", "--first-seed", "7", "--json", "-"});
  CHECK(outcome.code == 0);
  const Json json = Json::parse(outcome.out);
  CHECK(keys_of(json) == Keys{"schema", "version", "first_seed", "seeds", "events", "digest",
                              "failed_seed", "violations", "reached"});
  CHECK(json["schema"] == "eplb.fuzz/1");
  CHECK(json["first_seed"] == 7);
  CHECK(json["seeds"] == 2);
  CHECK(json["events"] > 0);
  CHECK(json["failed_seed"] == nullptr);
  CHECK(json["violations"].empty());
  CHECK(last_line(outcome.err) == "PASSED seeds=2 digest=" + json["digest"].get<std::string>());
}

TEST_CASE("replay shows the world of one seed, and what it came to") {
  const test::Outcome outcome = test::run_eplb({"replay", "--seed", "7"});
  CHECK(outcome.code == 0);
  CHECK(outcome.out.starts_with("seed 7\n  group: "));
  CHECK(last_line(outcome.out).starts_with("PASSED seed=7 steps="));
  CHECK(test::run_eplb({"replay", "--seed", "7"}).out == outcome.out);
}

TEST_CASE("replay writes its keys in their order") {
  const test::Outcome outcome = test::run_eplb({"replay", "--seed", "7", "--json", "-"});
  CHECK(outcome.code == 0);
  const Json json = Json::parse(outcome.out);
  CHECK(keys_of(json) == Keys{"schema", "version", "seed", "steps", "events", "digest", "end",
                              "violations", "reached"});
  CHECK(json["schema"] == "eplb.replay/1");
  CHECK(json["seed"] == 7);
  CHECK(last_line(outcome.err).find("digest=" + json["digest"].get<std::string>()) !=
        std::string::npos);
}

TEST_CASE("a commit is a seed by its first 16 digits") {
  const std::string commit = "00000000000000070123456789abcdefABCDEF01";
  const Json json = Json::parse(test::run_eplb({"replay", "--seed", commit, "--json", "-"}).out);
  CHECK(json["seed"] == 7);
  CHECK(json == Json::parse(test::run_eplb({"replay", "--seed", "7", "--json", "-"}).out));
  CHECK(last_line(test::run_eplb({"fuzz", "--seeds", "1", "--first-seed", commit}).out) ==
        last_line(test::run_eplb({"fuzz", "--seeds", "1", "--first-seed", "7"}).out));
}

TEST_CASE("the largest seed is one, and the first comes after it") {
  const Json largest =
      Json::parse(test::run_eplb({"replay", "--seed", "18446744073709551615", "--json", "-"}).out);
  CHECK(largest["seed"] == 18446744073709551615U);
  const test::Outcome around =
      test::run_eplb({"fuzz", "--seeds", "2", "--first-seed", "18446744073709551615"});
  CHECK(around.code == 0);
}

TEST_CASE("seeds that are none are refused, and what is missing is named") {
  for (const char* seed :
       {"", "-1", "1.5", "0x10", "18446744073709551616", "12 ", "abc",
        "00000000000000070123456789abcdefABCDEF0", "0000000000000007012345678gabcdefABCDEF01"}) {
    CAPTURE(seed);
    const test::Outcome outcome = test::run_eplb({"replay", "--seed", seed});
    CHECK(outcome.code == 2);
    CHECK(outcome.out.empty());
    CHECK(outcome.err.find("--seed: must be a whole number") != std::string::npos);
    CHECK(test::run_eplb({"fuzz", "--seeds", "1", "--first-seed", seed}).code == 2);
  }
  CHECK(test::run_eplb({"replay"}).err.find("--seed: is required") != std::string::npos);
  CHECK(test::run_eplb({"replay"}).code == 2);
  CHECK(test::run_eplb({"fuzz"}).code == 2);
  CHECK(test::run_eplb({"fuzz", "--seeds", "0"}).code == 2);
  CHECK(test::run_eplb({"fuzz", "--seeds", "-3"}).code == 2);
  CHECK(test::run_eplb({"fuzz", "--seeds", "2", "--json", "no/such/folder/x.json"}).code == 2);
  CHECK(test::run_eplb({"replay", "--seed", "2", "--json", "no/such/folder/x.json"}).code == 2);
}

}  // namespace
}  // namespace eplb
