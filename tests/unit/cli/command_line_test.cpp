// Goal: a command's line is read strictly, and all that is wrong with it is said in one go. Method:
// lines for a made-up command with each kind of option.
#include "eplb/cli/command_line.hpp"

#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <vector>

namespace eplb::cli {
namespace {

CommandSyntax made_up_syntax() {
  return {.name = "demo",
          .usage = "CONFIG [options]",
          .about = "Shows what a line is read as.",
          .example = "  eplb demo x.yaml",
          .positionals = {"CONFIG"},
          .options = {{.name = "ranks", .value_name = "N", .help = "how many"},
                      {.name = "set", .value_name = "K=V", .help = "overrides", .repeatable = true},
                      {.name = "quiet", .value_name = "", .help = "says less"}}};
}

struct Parsed {
  tl::expected<OptionValues, ExitCode> values;
  std::string out;
  std::string err;
};

Parsed parse(const std::vector<std::string>& arguments) {
  std::ostringstream out;
  std::ostringstream err;
  auto values = parse_command_line(made_up_syntax(), arguments, {.out = out, .err = err});
  return {std::move(values), out.str(), err.str()};
}

/// What is said about a line that must be refused.
std::string refusal(const std::vector<std::string>& arguments) {
  const Parsed parsed = parse(arguments);
  return !parsed.values && parsed.values.error() == ExitCode::kUsage ? parsed.err : "accepted";
}

std::string only(const std::string& problem) {
  return "eplb demo: error: " + problem + "\nSee 'eplb demo --help'.\n";
}

TEST_CASE("options, switches, repeated options and positional arguments are told apart") {
  auto parsed = parse({"x.yaml", "--ranks=8", "--set", "a=1", "--quiet", "--set=b=2"});
  REQUIRE(parsed.values.has_value());
  OptionValues& values = *parsed.values;
  CHECK(values.required_text("CONFIG") == "x.yaml");
  CHECK(values.integer("ranks", {.min = 1}) == 8);
  CHECK(values.has("quiet"));
  REQUIRE(values.texts("set").size() == 2);
  CHECK(values.texts("set")[0] == "a=1");
  CHECK(values.texts("set")[1] == "b=2");
  CHECK_FALSE(values.text("json").has_value());
}

TEST_CASE("help is printed whatever else is on the line") {
  const Parsed parsed = parse({"--nonsense", "--help"});
  REQUIRE_FALSE(parsed.values.has_value());
  CHECK(parsed.values.error() == ExitCode::kDone);
  CHECK(parsed.err.empty());
  CHECK(parsed.out ==
        "usage: eplb demo CONFIG [options]\n\nShows what a line is read as.\n\n"
        "options:\n"
        "  --ranks N             how many\n"
        "  --set K=V             overrides\n"
        "  --quiet               says less\n"
        "\nexample:\n  eplb demo x.yaml\n");
}

TEST_CASE("an unknown option is refused, with the nearest name and no guess at abbreviations") {
  CHECK(refusal({"--rank", "8"}) == only("unknown option '--rank'; did you mean '--ranks'?"));
  CHECK(refusal({"--qui"}) == only("unknown option '--qui'"));
  CHECK(refusal({"--banana=3"}) == only("unknown option '--banana'"));
  CHECK(refusal({"-x"}) == only("unknown option '-x'"));
}

TEST_CASE("an option without its value, or a switch with one, is refused") {
  CHECK(refusal({"--ranks"}) == only("the required argument for option '--ranks' is missing"));
  CHECK(refusal({"--ranks", "--quiet"}) == only("--ranks: needs a value before '--quiet'"));
  CHECK(parse({"--set=--quiet"}).values->texts("set")[0] == "--quiet");
  CHECK(refusal({"--ranks="}) ==
        only("the argument for option '--ranks' should follow immediately after the equal sign"));
  CHECK(refusal({"--quiet=3"}) == only("option '--quiet' does not take any arguments"));
}

TEST_CASE("an option given twice and arguments too many are all reported") {
  CHECK(refusal({"a", "--ranks", "1", "--ranks", "2", "b", "--", "--quiet"}) ==
        "eplb demo: error: --ranks: is given more than once\n"
        "eplb demo: error: unexpected argument 'b'\n"
        "eplb demo: error: unexpected argument '--quiet'\n"
        "See 'eplb demo --help'.\n");
}

TEST_CASE("a number must be whole, decimal and in range") {
  for (const std::string bad : {"0", "-4", "65", "4.0", "1e1", "0x8", " 8", "8 ", "+8", "abc",
                                "99999999999999999999", "\xC3\xA9"}) {
    CAPTURE(bad);
    auto parsed = parse({"--ranks", bad});
    REQUIRE(parsed.values.has_value());
    CHECK(parsed.values->integer("ranks", {.min = 1, .max = 64}) == 1);
    std::ostringstream err;
    CHECK(parsed.values->report_problems({.out = err, .err = err}));
    CHECK(err.str() == only("--ranks: must be a whole number from 1 to 64, got '" + bad + "'"));
  }
}

TEST_CASE("a number may be the least and the most of its range") {
  for (const std::string good : {"1", "64", "007"}) {
    CAPTURE(good);
    auto parsed = parse({"--ranks", good});
    REQUIRE(parsed.values.has_value());
    CHECK(parsed.values->integer("ranks", {.min = 1, .max = 64}) == std::stoi(good));
    std::ostringstream err;
    CHECK_FALSE(parsed.values->report_problems({.out = err, .err = err}));
  }
}

TEST_CASE("an absent option has its fallback, or is reported as missing") {
  auto parsed = parse({});
  REQUIRE(parsed.values.has_value());
  CHECK(parsed.values->integer("ranks", {.min = 1, .fallback = 7}) == 7);
  CHECK_FALSE(parsed.values->text("set").has_value());
  std::ostringstream err;
  CHECK_FALSE(parsed.values->report_problems({.out = err, .err = err}));
  CHECK(err.str().empty());

  CHECK(parsed.values->integer("ranks", {.min = 1}) == 1);
  CHECK(parsed.values->required_text("CONFIG").empty());
  CHECK(parsed.values->report_problems({.out = err, .err = err}));
  CHECK(err.str() ==
        "eplb demo: error: --ranks: is missing\neplb demo: error: CONFIG: is missing\n"
        "See 'eplb demo --help'.\n");
}

TEST_CASE("an empty text is reported") {
  auto parsed = parse({"", "--set", ""});
  REQUIRE(parsed.values.has_value());
  CHECK(parsed.values->required_text("CONFIG").empty());
  CHECK(parsed.values->text("set") == "");
  std::ostringstream err;
  CHECK(parsed.values->report_problems({.out = err, .err = err}));
  CHECK(err.str() ==
        "eplb demo: error: CONFIG: must not be empty\n"
        "eplb demo: error: --set: must not be empty\nSee 'eplb demo --help'.\n");
}

}  // namespace
}  // namespace eplb::cli
