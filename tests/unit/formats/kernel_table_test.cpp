// Goal: tables of kernel times and their counts are read exactly, and what is wrong is said with
// its place. Method: small texts with values and messages written out.
#include "eplb/formats/kernel_table.hpp"

#include <doctest/doctest.h>

#include <string>

namespace eplb::formats {
namespace {

const std::string kHead =
    "device,ep,tokens_per_rank,hidden,inter,experts,top_k,distribution,latency_us\n";

std::string refusal(const std::string& text) {
  const auto rows = parse_kernel_table(text, "t.csv");
  return rows ? "accepted" : rows.error().message;
}

TEST_CASE("rows are read by the names of their columns, whatever else there is") {
  const auto rows = parse_kernel_table(
      "latency_us,device,ep,note,tokens_per_rank,hidden,inter,experts,top_k,distribution\r\n"
      "12.5,gb200,4,x,8,7168,3072,384,6,power_law_1.01\r\n"
      "\n"
      "90,gb300,8,,1,64,32,16,2,balanced",
      "t.csv");
  REQUIRE(rows.has_value());
  REQUIRE(rows->size() == 2);
  const KernelRow& first = rows->front();
  CHECK(first.line == 2);
  CHECK(first.device == "gb200");
  CHECK(first.ranks == 4);
  CHECK(first.tokens_per_rank == 8);
  CHECK(first.hidden == 7168);
  CHECK(first.intermediate == 3072);
  CHECK(first.experts == 384);
  CHECK(first.top_k == 6);
  CHECK(first.latency_us == 12.5);
  CHECK(counts_key(first) == "384/ep4/t8/power_law_1.01");
  CHECK(rows->back().line == 4);
  CHECK(rows->back().distribution == "balanced");
}

TEST_CASE("what is wrong with a table is said with its line and column") {
  CHECK(refusal("") == "t.csv:1:1: error: the file is empty, its first line must name the columns");
  CHECK(refusal("device,ep\n") ==
        "t.csv:1:1: error: column tokens_per_rank is missing; needed are device, ep, "
        "tokens_per_rank, hidden, inter, experts, top_k, distribution, latency_us");
  CHECK(refusal(kHead + "gb200,4,8,7168,3072,384,6,balanced\n") ==
        "t.csv:2:1: error: has 8 cells where the first line names 9 columns");
  CHECK(refusal(kHead + "gb200,four,8,7168,3072,384,6,balanced,1\n") ==
        "t.csv:2:7: error: ep: must be a whole number from 1 to 1024, got four");
  CHECK(refusal(kHead + "gb200,4,0,7168,3072,384,6,balanced,1\n") ==
        "t.csv:2:9: error: tokens_per_rank: must be a whole number from 1 to 16777216, got 0");
  CHECK(refusal(kHead + "gb200,4,8,7168,3072,384,6,,1\n") ==
        "t.csv:2:27: error: distribution: must be a word, got nothing");
  CHECK(refusal(kHead + "gb200,4,8,7168,3072,384,6,balanced,nan\n") ==
        "t.csv:2:36: error: latency_us: must be a number above 0, got nan");
  CHECK(refusal(kHead + "gb200,7,8,7168,3072,384,6,balanced,1\n") ==
        "t.csv:2:1: error: ep: 7 ranks do not divide 384 experts");
  CHECK(refusal(kHead + "gb200,4,8,7168,3072,4,6,balanced,1\n") ==
        "t.csv:2:1: error: top_k: must be at most experts");
}

TEST_CASE("counts are lists of whole numbers by key") {
  const auto counts = parse_kernel_counts(R"({"4/ep2/t1/x": [1, 0, 2, 3]})", "c.json");
  REQUIRE(counts.has_value());
  CHECK(counts->at("4/ep2/t1/x") == std::vector<std::int64_t>{1, 0, 2, 3});
  const auto refused = [](const char* text) {
    const auto read = parse_kernel_counts(text, "c.json");
    return read ? "accepted" : read.error().message;
  };
  CHECK(refused("[1]") == "c.json: error: : must be an object of lists of counts");
  CHECK(refused(R"({"k": [1, -2]})") == "c.json: error: k[1]: must be a whole number from 0");
  CHECK(refused(R"({"k": [1.5]})") == "c.json: error: k[0]: must be a whole number from 0");
  CHECK(refused("{\n \"k\": [1,,2]}") == "c.json:2:10: error: is no JSON");
}

TEST_CASE("measurements keep their source, and a row for each pair of a series") {
  const auto read = parse_kernel_measurements(
      R"({"source": "a book", "licence": "MIT",
          "model": {"hidden": 64, "intermediate": 32, "experts": 16, "top_k": 2},
          "series": [{"device": "gb200", "ranks": 4, "distribution": "balanced",
                      "tokens_per_rank": [1, 2], "latency_us": [10, 11.5]}],
          "counts": {"k": [7]}})",
      "m.json");
  REQUIRE(read.has_value());
  CHECK(read->source == "a book");
  CHECK(read->licence == "MIT");
  REQUIRE(read->rows.size() == 2);
  CHECK(read->rows[1].tokens_per_rank == 2);
  CHECK(read->rows[1].latency_us == 11.5);
  CHECK(read->rows[1].intermediate == 32);
  CHECK(read->counts.at("k").front() == 7);
  const auto uneven = parse_kernel_measurements(
      R"({"source": "", "licence": "",
          "model": {"hidden": 64, "intermediate": 32, "experts": 16, "top_k": 2},
          "series": [{"device": "d", "ranks": 4, "distribution": "x",
                      "tokens_per_rank": [1, 2], "latency_us": [10]}]})",
      "m.json");
  REQUIRE_FALSE(uneven.has_value());
  CHECK(uneven.error().message ==
        "m.json: error: series[0].latency_us: must have as many numbers as tokens_per_rank");
}

}  // namespace
}  // namespace eplb::formats
