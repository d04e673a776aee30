// Goal: the program finds its commands, helps, and tells its caller by exit code how it went.
// Method: whole runs in this process.
#include "eplb/cli/run.hpp"

#include <doctest/doctest.h>

#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "run_eplb.hpp"
#include "temp_folder.hpp"

namespace eplb::cli {
namespace {

using test::run_eplb;

TEST_CASE("without arguments, or asked for help, the program lists its commands") {
  const auto plain = run_eplb({});
  CHECK(plain.code == 0);
  CHECK(plain.err.empty());
  CHECK(plain.out.starts_with("usage: eplb COMMAND [options]\n"));
  for (const Command& command : commands()) {
    const std::string name(command.name);
    CAPTURE(name);
    CHECK(plain.out.find("\n  " + name + " ") != std::string::npos);
    CHECK(plain.out.find(command.summary) != std::string::npos);
  }
  CHECK(run_eplb({"--help"}).out == plain.out);
  CHECK(run_eplb({"-h"}).out == plain.out);
  CHECK(run_eplb({"help"}).out == plain.out);
}

TEST_CASE("the version is that of the file VERSION") {
  const auto outcome = run_eplb({"--version"});
  CHECK(outcome.code == 0);
  CHECK(outcome.out == "eplb " + test::read_file(std::string(EPLB_SOURCE_DIR) + "/VERSION"));
}

TEST_CASE("every command helps with its usage, options and an example, asked either way") {
  for (const Command& command : commands()) {
    const std::string name(command.name);
    CAPTURE(name);
    const auto outcome = run_eplb({name, "--help"});
    CHECK(outcome.code == 0);
    CHECK(outcome.err.empty());
    CHECK(outcome.out.starts_with("usage: eplb " + name + " "));
    CHECK(outcome.out.find("\noptions:\n") != std::string::npos);
    CHECK(outcome.out.find("  --json FILE ") != std::string::npos);
    CHECK(outcome.out.find("\nexample:\n  eplb " + name + " ") != std::string::npos);
    CHECK(run_eplb({"help", name}).out == outcome.out);
    CHECK(run_eplb({name, "--nonsense", "-h"}).out == outcome.out);
  }
}

TEST_CASE("an unknown command is refused, with the nearest name") {
  const auto slip = run_eplb({"paln"});
  CHECK(slip.code == 2);
  CHECK(slip.out.empty());
  CHECK(slip.err ==
        "eplb: error: unknown command 'paln'; did you mean 'plan'?\nSee 'eplb --help'.\n");
  CHECK(run_eplb({"help", "paln"}).err == slip.err);
  CHECK(run_eplb({"help", "paln"}).code == 2);
  CHECK(run_eplb({"xyzzy"}).err == "eplb: error: unknown command 'xyzzy'\nSee 'eplb --help'.\n");
  CHECK(run_eplb({""}).err == "eplb: error: unknown command ''\nSee 'eplb --help'.\n");
  CHECK(run_eplb({"--verison"}).err ==
        "eplb: error: unknown option '--verison'; did you mean '--version'?\n"
        "See 'eplb --help'.\n");
}

TEST_CASE("a standard output that takes nothing is a failure") {
  std::ostream broken(nullptr);
  std::ostringstream err;
  CHECK(run(std::vector<std::string>{"--version"}, {.out = broken, .err = err}) == 2);
  CHECK(err.str() == "eplb: error: the standard output cannot be written\n");
}

}  // namespace
}  // namespace eplb::cli
