// Goal: loads are read exactly, and whatever is wrong with a file is said with its place, the
// offending text and what is allowed. Method: small texts with values and messages written out.
#include "eplb/formats/loads.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace eplb::formats {
namespace {

/// The message for a text that must be refused; "accepted" if it is not.
std::string refusal(std::string_view text) {
  const auto loads = parse_loads(text, "loads.json");
  return loads ? "accepted" : loads.error().message;
}

RealLoadMatrix matrix(std::initializer_list<std::initializer_list<double>> rows) {
  return RealLoadMatrix(rows);
}

constexpr std::string_view kRule = "must be a finite number that is not negative, got ";
constexpr std::string_view kExample = R"({"logical_count": [[12, 3, 5], [1, 9, 2]]})";

TEST_CASE("two levels of arrays are one window of layers and experts") {
  const auto loads = parse_loads(R"({"logical_count": [[12, 3, 5], [1, 9, 2]]})", "loads.json");
  REQUIRE(loads.has_value());
  REQUIRE(loads->windows.size() == 1);
  CHECK(loads->windows[0] == matrix({{12, 3, 5}, {1, 9, 2}}));
}

TEST_CASE("three levels of arrays are windows in the file's order") {
  const auto loads = parse_loads(R"({"logical_count": [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]})", "f");
  REQUIRE(loads.has_value());
  REQUIRE(loads->windows.size() == 2);
  CHECK(loads->windows[0] == matrix({{1, 2}, {3, 4}}));
  CHECK(loads->windows[1] == matrix({{5, 6}, {7, 8}}));
}

TEST_CASE("counts may be written as any finite JSON number") {
  const auto loads = parse_loads(
      R"({"logical_count": [[0.5, 1e3, 2.5E-1, 4611686018427387904, 1e-400, -0, -0.0]]})", "f");
  REQUIRE(loads.has_value());
  const RealLoadMatrix& counts = loads->windows[0];
  CHECK(counts == matrix({{0.5, 1000, 0.25, 0x1p62, 0, 0, 0}}));
  CHECK_FALSE(std::signbit(counts(0, 5)));
  CHECK_FALSE(std::signbit(counts(0, 6)));
}

TEST_CASE("other keys of a loads file are ignored, whatever they hold") {
  const auto loads = parse_loads(
      R"({"seed": -1, "a": {"logical_count": [[9]], "b": [[], {}, [{"a": null}]], "b": true},
          "logical_count": [[1]], "text": "\u00e9\"}", "last": [1, "x"]})",
      "f");
  REQUIRE(loads.has_value());
  CHECK(loads->windows[0] == matrix({{1}}));
}

TEST_CASE("white space and a byte order mark do no harm") {
  const auto loads =
      parse_loads("\xEF\xBB\xBF \r\n\t{ \"logical_count\"\n:\n[ [ 1 , 2 ] ]\r\n} \n\n", "f");
  REQUIRE(loads.has_value());
  CHECK(loads->windows[0] == matrix({{1, 2}}));
}

TEST_CASE("a number that is no count is refused with its place") {
  const std::string at = "loads.json:1:29: error: logical_count[1][1]: ";
  for (const std::string_view bad :
       {"-5", "-0.5", "NaN", "Infinity", "-Infinity", "nan", "inf", "1e999", "-1e999", "null",
        "true", "false", R"("7")", R"("a\"b")"}) {
    CAPTURE(bad);
    const bool has_quote = bad == R"("a\"b")";
    CHECK(refusal(R"({"logical_count": [[1,2],[3,)" + std::string(bad) + "]]}") ==
          at + std::string(kRule) + (has_quote ? R"("a\")" : std::string(bad)));
  }
  CHECK(refusal(R"({"logical_count": [[1,2],[3,[4]]]})") == at + std::string(kRule) + "an array");
  CHECK(refusal(R"({"logical_count": [[1,2],[3,{}]]})") == at + std::string(kRule) + "an object");
}

TEST_CASE("a place is given in lines and columns of the file") {
  CHECK(refusal("{\n  \"logical_count\": [\n    [1, 2],\n    [3,\n -4]]}") ==
        "loads.json:5:2: error: logical_count[1][1]: " + std::string(kRule) + "-4");
}

TEST_CASE("long and unprintable text is cut and masked in a message") {
  CHECK(refusal("{\"logical_count\": [[-" + std::string(100, '1') + "]]}") ==
        "loads.json:1:21: error: logical_count[0][0]: must be a finite number that is not "
        "negative, got -" +
            std::string(31, '1') + "...");
  CHECK(refusal("\x01") == "loads.json:1:1: error: is not JSON from here on: ?");
}

TEST_CASE("counts whose sum no 64-bit counter holds are refused at the one that is too many") {
  const std::string what = "takes the sum to 2^63 or more; it must stay below";
  CHECK(refusal(R"({"logical_count": [[9e18,1],[1,9e18]]})") ==
        "loads.json:1:32: error: logical_count[1][1]: " + what);
  CHECK(refusal(R"({"logical_count": [[[9e18]],[[9e18]]]})") ==
        "loads.json:1:31: error: logical_count[1][0][0]: " + what);
  for (const std::string bad : {"9223372036854775808", "18446744073709551616"}) {
    CHECK(refusal("{\"logical_count\": [[" + bad + "]]}") ==
          "loads.json:1:21: error: logical_count[0][0]: " + what);
  }
  // The largest double below 2^63.
  CHECK(refusal(R"({"logical_count": [[9223372036854774784, 0]]})") == "accepted");
}

TEST_CASE("ragged loads are refused") {
  CHECK(refusal(R"({"logical_count": [[1,2],[3]]})") ==
        "loads.json:1:28: error: logical_count[1]: has length 1 where those before have 2; "
        "all must have one length");
  CHECK(refusal(R"({"logical_count": [[[1],[2]],[[3]]]})") ==
        "loads.json:1:34: error: logical_count[1]: has length 1 where those before have 2; "
        "all must have one length");
  CHECK(refusal(R"({"logical_count": [[[1],[2,3]]]})") ==
        "loads.json:1:29: error: logical_count[0][1]: has length 2 where those before have 1; "
        "all must have one length");
}

TEST_CASE("empty arrays of loads are refused") {
  CHECK(refusal(R"({"logical_count": []})") ==
        "loads.json:1:20: error: logical_count: must not be empty");
  CHECK(refusal(R"({"logical_count": [[]]})") ==
        "loads.json:1:21: error: logical_count[0]: must not be empty");
  CHECK(refusal(R"({"logical_count": [[[1]], [[2], []]]})") ==
        "loads.json:1:34: error: logical_count[1][1]: must not be empty");
}

TEST_CASE("loads nested too little or too much are refused") {
  CHECK(refusal(R"({"logical_count": 3})") ==
        "loads.json:1:19: error: logical_count: must be an array, got 3");
  CHECK(refusal(R"({"logical_count": [1,2]})") ==
        "loads.json:1:20: error: logical_count[0]: must be an array, got 1");
  CHECK(refusal(R"({"logical_count": [[1],2]})") ==
        "loads.json:1:24: error: logical_count[1]: must be an array, got 2");
  CHECK(refusal(R"({"logical_count": [[[1]],[2]]})") ==
        "loads.json:1:27: error: logical_count[1][0]: must be an array, got 2");
  CHECK(refusal(R"({"logical_count": [[[[1]]]]})") ==
        "loads.json:1:22: error: logical_count[0][0][0]: " + std::string(kRule) + "an array");
}

TEST_CASE("a file that is no object of loads is refused with an example") {
  for (const std::string_view text : {"3", "null", R"("logical_count")"}) {
    CHECK(refusal(text) == "loads.json:1:1: error: must be an object like " +
                               std::string(kExample) + ", got " + std::string(text));
  }
  CHECK(refusal("[[1, 2]]") == "loads.json:1:1: error: must be an object like " +
                                   std::string(kExample) + ", got an array");
  CHECK(refusal(R"({"logical_count": {}})") ==
        "loads.json:1:19: error: logical_count: must be an array, got an object");
  CHECK(refusal(R"({"records": []})") ==
        "loads.json: error: logical_count: is missing; the file must be like " +
            std::string(kExample));
}

TEST_CASE("a key of the file that stands twice is refused") {
  CHECK(refusal("{\"logical_count\": [[1]],\n \"logical_count\": [[1]]}") ==
        "loads.json:2:2: error: the key \"logical_count\" stands here a second time");
  CHECK(refusal(R"({"a": 1, "a": 1, "logical_count": [[1]]})") ==
        "loads.json:1:10: error: the key \"a\" stands here a second time");
}

TEST_CASE("text without JSON is an empty file") {
  CHECK(refusal("") == "loads.json:1:1: error: the file is empty");
  CHECK(refusal(" \n") == "loads.json:2:1: error: the file is empty");
}

TEST_CASE("loads that are cut off are refused, wherever the cut is") {
  constexpr std::string_view kWhole = R"({"a": "b\u00e9", "logical_count": [[1, 2.5e3], [3, 4]]})";
  REQUIRE(parse_loads(kWhole, "f").has_value());
  for (std::size_t length = 1; length < kWhole.size(); ++length) {
    const std::string message = refusal(kWhole.substr(0, length));
    CAPTURE(message);
    const std::string column = std::to_string(length + 1);
    CHECK(message.starts_with("loads.json:1:" + column + ": error: "));
    CHECK(message.ends_with("the text ends before the JSON does"));
  }
  CHECK(refusal(R"({"logical_count": [[1,2],[3)") ==
        "loads.json:1:28: error: logical_count[1][1]: the text ends before the JSON does");
}

TEST_CASE("text after the end of the loads is refused") {
  for (const std::string_view rest : {"x", "}", "{", ",", "1"}) {
    CAPTURE(rest);
    CHECK(refusal("{\"logical_count\": [[1]]}\n " + std::string(rest)) ==
          "loads.json:2:2: error: there is text after the end of the JSON: " + std::string(rest));
  }
}

TEST_CASE("text that is no JSON is shown where it starts") {
  struct Case {
    std::string_view text;
    std::string_view message;
  };

  for (const Case& bad : std::vector<Case>{
           {"{'a': 1}", "1:2: error: is not JSON from here on: '"},
           {R"({"a": NaN})", "1:7: error: is not JSON from here on: NaN"},
           {R"({"a": 1e999})", "1:7: error: is not JSON from here on: 1e999"},
           {R"({"a" 1})", "1:6: error: is not JSON from here on: 1"},
           {R"({"a": 1,})", "1:9: error: is not JSON from here on: }"},
           {R"({"a": 01})", "1:8: error: is not JSON from here on: 1"},
           {R"({"a": // no
 1})",
            "1:7: error: is not JSON from here on: /"},
           {R"({"logical_count": [[1,,2]]})",
            "1:23: error: logical_count[0][1]: is not JSON from here on: ,"},
           {R"({"logical_count": [[1 2]]})",
            "1:23: error: logical_count[0][1]: is not JSON from here on: 2"},
           {R"({"logical_count": [[1}})",
            "1:22: error: logical_count[0][1]: is not JSON from here on: }"},
           {R"({"logical_count": [[1-2]]})",
            "1:22: error: logical_count[0][1]: is not JSON from here on: -2"},
           {R"({"logical_count": [[0x10]]})",
            "1:22: error: logical_count[0][1]: is not JSON from here on: x10"},
           {R"({"logical_count": [[tru]]})",
            "1:21: error: logical_count[0][0]: is not JSON from here on: tru"},
       }) {
    CAPTURE(bad.text);
    CHECK(refusal(bad.text) == "loads.json:" + std::string(bad.message));
  }
}

}  // namespace
}  // namespace eplb::formats
