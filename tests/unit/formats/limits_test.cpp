// Goal: no text, however large or odd, costs more than its limits or ends otherwise than with a
// clear message. Method: generated texts just below and above each limit.
#include "eplb/formats/limits.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "eplb/formats/domains.hpp"
#include "eplb/formats/loads.hpp"

namespace eplb::formats {
namespace {

std::string repeated(std::size_t count, std::string_view part) {
  std::string text;
  text.reserve(count * part.size());
  for (std::size_t index = 0; index < count; ++index) {
    text += part;
  }
  return text;
}

std::string refusal(const std::string& text) {
  const auto loads = parse_loads(text, "f");
  return loads ? "accepted" : loads.error().message;
}

TEST_CASE("nesting under another key is read up to its limit and refused beyond") {
  const std::size_t limit = kIgnoredDepthMax;
  for (const bool is_object : {false, true}) {
    CAPTURE(is_object);
    const std::string open = is_object ? "{\"k\":" : "[";
    const std::string close = is_object ? "}" : "]";
    const auto nested = [&](std::size_t depth) {
      return "{\"a\":" + repeated(depth, open) + "1" + repeated(depth, close) +
             ",\"logical_count\":[[1]]}";
    };
    CHECK(refusal(nested(limit)) == "accepted");
    CHECK(refusal(nested(limit + 1)) ==
          "f:1:" + std::to_string(6 + limit * open.size()) +
              ": error: is nested more than 1000 deep, the most that is read");
  }
}

TEST_CASE("a million open brackets end in a message, not in an overflow of the stack") {
  CHECK(refusal("{\"logical_count\":" + repeated(1000000, "[")) ==
        "f:1:21: error: logical_count[0][0][0]: must be a finite number that is not negative, "
        "got an array");
  CHECK(refusal(repeated(1000000, "[")).starts_with("f:1:1: error: must be an object like"));
  CHECK(refusal(repeated(1000000, "{\"a\":")) ==
        "f:1:5006: error: is nested more than 1000 deep, the most that is read");
}

TEST_CASE("a token longer than its limit is refused before it is read whole") {
  const std::string what = "more than 16 MiB before the next value, the most that is read";
  CHECK(refusal("{\"a\":\"" + std::string(kTokenBytesMax / 2, 'x') +
                "\",\"logical_count\":[[1]]}") == "accepted");
  CHECK(refusal("{\"a\":\"" + std::string(kTokenBytesMax, 'x') + "\",\"logical_count\":[[1]]}") ==
        "f:1:6: error: " + what);
  CHECK(refusal("{\"logical_count\":[[" + std::string(kTokenBytesMax, ' ') + "1]]}") ==
        "f:1:" + std::to_string(20 + kTokenBytesMax) + ": error: logical_count[0][0]: " + what);
  CHECK(
      refusal("{" + std::string(kTokenBytesMax, ' ') + "\"logical_count\":[[1]]}").ends_with(what));
}

TEST_CASE("white space after the JSON has no limit, and what follows it is still seen") {
  const std::string text = "{\"logical_count\":[[1]]}" + std::string(kTokenBytesMax + 10, '\n');
  CHECK(refusal(text) == "accepted");
  CHECK(refusal(text + "x").ends_with("there is text after the end of the JSON: x"));
}

TEST_CASE("an object may have as many keys as its limit") {
  const auto keys = [](std::size_t count) {
    std::string text;
    for (std::size_t key = 0; key < count; ++key) {
      text += "\"k" + std::to_string(key) + "\":[[1]],";
    }
    return text;
  };
  CHECK(refusal("{" + keys(kKeysMax - 1) + "\"logical_count\":[[1]]}") == "accepted");
  CHECK(refusal("{" + keys(kKeysMax) + "\"logical_count\":[[1]]}")
            .ends_with("error: has more than 1024 keys, the most that is read"));
  const auto domains =
      parse_domain_loads("{\"domains\":{" + keys(kKeysMax) + "\"last\":[[1]]}}", "f");
  REQUIRE_FALSE(domains.has_value());
  CHECK(domains.error().code == ErrorCode::kResourceExhausted);
  CHECK(domains.error().message.ends_with(
      "error: domains: has more than 1024 keys, the most that is read"));
}

TEST_CASE("a line of megabytes is read") {
  const std::size_t expert_count = 500000;
  const auto loads =
      parse_loads("{\"logical_count\":[[" + repeated(expert_count - 1, "1234567,") + "1]]}", "f");
  REQUIRE(loads.has_value());
  CHECK(loads->windows[0].cols() == static_cast<Eigen::Index>(expert_count));
  CHECK(loads->windows[0].sum() == 1234567.0 * static_cast<double>(expert_count - 1) + 1);
}

}  // namespace
}  // namespace eplb::formats
