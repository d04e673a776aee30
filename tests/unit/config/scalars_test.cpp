// Goal: a scalar is read as what it looks like to a person, and anything ambiguous is refused.
// Method: one key of each type, with values that YAML 1.1 or yaml-cpp would take for something
// else.
#include <doctest/doctest.h>

#include <limits>
#include <string>

#include "config_text.hpp"

namespace eplb::config::test {
namespace {

/// What is said of `key` with this value, without place and key; empty if nothing.
std::string said(const std::string& key, const std::string& value) {
  const LoadResult result = load(kLegal, {key + "=" + value});
  return result.has_value() ? "" : result.error().front().message;
}

TEST_CASE("whole numbers are decimal digits, within the range of their key") {
  const std::string key = "eplb.window_size";
  for (const char* value : {"4", "1000", "10000000"}) {
    CHECK(said(key, value) == "");
  }
  const std::string must = "must be a whole number in decimal digits, got ";
  for (const char* value : {"010", "0x10", "0o7", "1_000", "1,000", "+5", "1e3", "1.0", "1.5", ".5",
                            "4k", "yes", "true", "none", "--4", "4 4", "-01"}) {
    CHECK(said(key, value) == must + value);
  }
  CHECK(said(key, "'4'") == must + "the text \"4\"");
  CHECK(said(key, "[4]") == must + "a list");
  CHECK(said(key, "{a: 4}") == must + "a mapping");
  CHECK(said(key, "") == "must not be empty");
  CHECK(said(key, "~") == "must not be empty");
  const std::string range = "must be at least 1 and at most 10000000, got ";
  for (const char* value : {"0", "-1", "-0", "10000001", "2147483648", "9223372036854775808",
                            "-9223372036854775809", "99999999999999999999999999"}) {
    CHECK(said(key, value) == range + value);
  }
}

TEST_CASE("a seed is any number of 64 bits without sign") {
  const LoadResult largest = load(kLegal, {"run.seed=18446744073709551615"});
  REQUIRE(largest.has_value());
  CHECK(largest->scenario.run.seed == std::numeric_limits<std::uint64_t>::max());
  CHECK(said("run.seed", "0") == "");
  for (const char* value : {"18446744073709551616", "-1", "1.0", "0x1"}) {
    CHECK(said("run.seed", value) ==
          "must be a whole number from 0 to 2^64 - 1, got " + std::string(value));
  }
}

TEST_CASE("numbers are finite and decimal, within the range of their key") {
  const std::string key = "serving.other_kernels_ms.base";
  for (const char* value : {"0", "-0", "8.65", "1e3", "1.5E-3", "2.5e+2", "1000000"}) {
    CHECK(said(key, value) == "");
  }
  for (const char* value : {".nan", ".inf", "-.inf", "nan", "inf", ".5", "5.", "1e", "1e+", "+1",
                            "00.5", "0x1p3", "1_0.0", "1.2.3", "1,5"}) {
    CHECK(said(key, value) == "must be a decimal number, got " + std::string(value));
  }
  for (const char* value : {"-0.001", "1000000.1", "1e999", "1e-999"}) {
    CHECK(said(key, value) == "must be at least 0 and at most 1000000, got " + std::string(value));
  }
  const LoadResult exact = load(kLegal, {key + "=0.1"});
  REQUIRE(exact.has_value());
  CHECK(exact->scenario.serving.other_kernels_base_ms == 0.1);
}

TEST_CASE("a bound can be excluded, and is then said to be") {
  CHECK(said("hardware.hbm_efficiency", "0") == "must be above 0 and at most 1, got 0");
  CHECK(said("hardware.hbm_efficiency", "1.01") == "must be above 0 and at most 1, got 1.01");
  CHECK(said("hardware.hbm_efficiency", "1") == "");
}

TEST_CASE("true and false are the only truth values") {
  CHECK(said("eplb.use_async", "true") == "");
  CHECK(said("eplb.use_async", "false") == "");
  for (const char* value : {"yes", "no", "on", "off", "True", "TRUE", "1", "0", "y"}) {
    CHECK(said("eplb.use_async", value) == "must be true or false, got " + std::string(value));
  }
  CHECK(said("eplb.use_async", "'true'") == "must be true or false, got the text \"true\"");
}

TEST_CASE("an enumeration names its words") {
  CHECK(said("eplb.replica_choice", "salted") == "");
  CHECK(said("eplb.replica_choice", "Salted") ==
        "must be one of hash, salted, shares, exact, nearest, got Salted");
  CHECK(said("workload.noise", "[none]") == "must be one of multinomial, none, got a list");
  CHECK(said("model.weight_format", "fp8") ==
        "must be one of bf16, fp8_block128, mxfp8, mxfp4, nvfp4, int4_group32, got fp8");
}

TEST_CASE("a number that may be absent can be none") {
  CHECK(said("eplb.window_half_life_steps", "none") == "");
  CHECK(said("eplb.window_half_life_steps", "12.5") == "");
  CHECK(said("eplb.window_half_life_steps", "0") == "must be above 0 and at most 10000000, got 0");
  CHECK(said("eplb.window_half_life_steps", "None") == "must be a decimal number, got None");
}

TEST_CASE("text is one line without control characters, and a source may have several lines") {
  CHECK(said("model.name", "any 'text' \xC3\xA9") == "");
  CHECK(said("model.name", "12") == "");
  CHECK(said("model.name", R"("a\nb")") == "must be text of one line, got the text \"a\\x0ab\"");
  CHECK(said("model.name", R"("\0")") ==
        "must be text without control characters, got the text \"\\x00\"");
  CHECK(said("model.name", "[a]") == "must be text without control characters, got a list");
  CHECK(said("model.source", R"("a\nb")") == "");
  CHECK(said("hardware.sources.device", "{a: b}") ==
        "must be text without control characters, got a mapping");
  CHECK(said("hardware.sources.devise", "x") == "unknown key, did you mean device?");
}

TEST_CASE("a value that is missing is refused at its key") {
  CHECK(problems(legal_with("eplb:\n  window_size:\n  step_interval: ~\nrun:\n")) ==
        "t.yaml:6:3: error: eplb.window_size: must be a whole number in decimal digits, got "
        "nothing\n"
        "t.yaml:7:3: error: eplb.step_interval: must be a whole number in decimal digits, got "
        "nothing\n"
        "t.yaml:8:1: error: run: must be a mapping of steps, warmup_steps, seed, compare_off, got "
        "nothing\n");
}

}  // namespace
}  // namespace eplb::config::test
