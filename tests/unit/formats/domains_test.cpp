// Goal: loads by kind of text are read in the file's order, and a wrong file is refused with the
// domain's name in the message. Method: small texts with values and messages written out.
#include "eplb/formats/domains.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

namespace eplb::formats {
namespace {

std::string refusal(std::string_view text) {
  const auto domains = parse_domain_loads(text, "domains.json");
  return domains ? "accepted" : domains.error().message;
}

TEST_CASE("domains keep the file's order and their own counts") {
  const auto domains = parse_domain_loads(
      R"({"source": {"c4": 1}, "domains": {"wiki": [[1, 2], [3, 4]], "c4": [[5, 6], [7, 8.5]]}})",
      "f");
  REQUIRE(domains.has_value());
  REQUIRE(domains->size() == 2);
  CHECK(domains->at(0).name == "wiki");
  CHECK(domains->at(0).counts == RealLoadMatrix{{1, 2}, {3, 4}});
  CHECK(domains->at(1).name == "c4");
  CHECK(domains->at(1).counts == RealLoadMatrix{{5, 6}, {7, 8.5}});
}

TEST_CASE("every domain may have a sum up to 2^63") {
  CHECK(parse_domain_loads(R"({"domains": {"a": [[9e18]], "b": [[9e18]]}})", "f").has_value());
}

TEST_CASE("domains of different shapes are refused") {
  CHECK(refusal(R"({"domains": {"c4": [[1, 2]], "wiki": [[1], [2]]}})") ==
        "domains.json: error: domains.wiki: has shape [2, 1] where domains.c4 has [1, 2]; "
        "all must have one shape, [layers, experts]");
}

TEST_CASE("a domain that is no array of layers is refused by name") {
  CHECK(refusal(R"({"domains": {"c4": [[1]], "wiki": 3}})") ==
        "domains.json:1:35: error: domains.wiki: must be an array, got 3");
  CHECK(refusal(R"({"domains": {"c4": {"x": [[1]]}}})") ==
        "domains.json:1:20: error: domains.c4: must be an array, got an object");
  CHECK(refusal(R"({"domains": {"c4": [[1, -2]]}})") ==
        "domains.json:1:25: error: domains.c4[0][1]: must be a finite number that is not negative, "
        "got -2");
  CHECK(refusal(R"({"domains": {"c4": [[[1]]]}})") ==
        "domains.json:1:22: error: domains.c4[0][0]: must be a finite number that is not negative, "
        "got an array");
  CHECK(refusal(R"({"domains": {"c4": [[1], [2, 3]]}})") ==
        "domains.json:1:31: error: domains.c4[1]: has length 2 where those before have 1; "
        "all must have one length");
}

TEST_CASE("a name that stands twice, or none, is refused") {
  CHECK(refusal(R"({"domains": {"c4": [[1]], "c4": [[1]]}})") ==
        "domains.json:1:27: error: domains: the key \"c4\" stands here a second time");
  CHECK(refusal(R"({"domains": {}})") == "domains.json:1:14: error: domains: must not be empty");
}

TEST_CASE("a file without an object of domains is refused") {
  CHECK(refusal(R"({"domains": [[1]]})") ==
        "domains.json:1:13: error: domains: must be an object of arrays, got an array");
  CHECK(refusal(R"({"domains": null})") ==
        "domains.json:1:13: error: domains: must be an object of arrays, got null");
  CHECK(refusal("{}") ==
        "domains.json: error: domains: is missing; the file must be like "
        R"({"domains": {"c4": [[12, 3, 5], [1, 9, 2]]}})");
}

TEST_CASE("a domain's name is cut and masked in a message") {
  CHECK(refusal("{\"domains\": {\"\xC3\xA9" + std::string(60, 'x') + "\": 1}}") ==
        "domains.json:1:80: error: domains.??" + std::string(30, 'x') +
            "...: must be an array, got 1");
}

}  // namespace
}  // namespace eplb::formats
