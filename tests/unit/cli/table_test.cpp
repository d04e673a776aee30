// Goal: tables line up, and progress shows only where somebody watches. Method: the text, byte for
// byte.
#include "eplb/cli/table.hpp"

#include <doctest/doctest.h>

#include <sstream>

#include "eplb/cli/progress.hpp"

namespace eplb::cli {
namespace {

TEST_CASE("columns are as wide as their widest cell, without blanks at a line's end") {
  Table table({Table::Align::kLeft, Table::Align::kRight, Table::Align::kLeft});
  table.add({"name", "1", "short"});
  table.add({"x", "12.5", ""});
  table.add({"a longer name", "100", "the end"});
  table.add({"two cells", "7"});
  std::ostringstream out;
  table.print(out);
  CHECK(out.str() ==
        "name              1  short\n"
        "x              12.5\n"
        "a longer name   100  the end\n"
        "two cells         7\n");
}

TEST_CASE("a table without rows prints nothing") {
  std::ostringstream out;
  Table({Table::Align::kLeft}).print(out);
  CHECK(out.str().empty());
}

TEST_CASE("progress is one line of a terminal, gone at the end") {
  std::ostringstream out;
  std::ostringstream err;
  const Streams streams{.out = out, .err = err, .err_is_terminal = true};
  {
    Progress progress(streams);
    progress.show("reading");
    progress.show("planning");
    CHECK(err.str() == "\r\x1b[Kreading\r\x1b[Kplanning");
    progress.clear();
    progress.clear();
    CHECK(err.str() == "\r\x1b[Kreading\r\x1b[Kplanning\r\x1b[K");
    progress.show("judging");
  }
  CHECK(err.str() == "\r\x1b[Kreading\r\x1b[Kplanning\r\x1b[K\r\x1b[Kjudging\r\x1b[K");
  CHECK(out.str().empty());
}

TEST_CASE("progress is silent where nobody watches") {
  std::ostringstream out;
  std::ostringstream err;
  const Streams streams{.out = out, .err = err};
  {
    Progress progress(streams);
    progress.show("reading");
  }
  CHECK(err.str().empty());
}

}  // namespace
}  // namespace eplb::cli
