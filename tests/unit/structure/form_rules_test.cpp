// Goal: files are written as the house writes them. Method: planted lines, then the whole tree.
#include "form_rules.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "source_tree.hpp"

namespace eplb::test {
namespace {

std::string said(const std::string& path, const std::string& text) {
  return report(form_findings(parse_source(path, text)));
}

TEST_CASE("form: tabs and white space at the end are caught in every file") {
  CHECK(said("a.cpp", "int a;\n\tint b;\n") == "a.cpp:2: a tab\n");
  CHECK(said("docs/a.md", "text \n") == "docs/a.md:1: white space at the end\n");
  CHECK(said("docs/a.md", "text\r\n") == "docs/a.md:1: white space at the end\n");
  CHECK(said("a.yaml", "key: 1") == "a.yaml:1: no newline at the end of the file\n");
}

TEST_CASE("form: a line of code is at most 100 characters wide, counted as characters") {
  CHECK(said("a.cpp", "// " + std::string(97, 'x') + "\n").empty());
  CHECK(said("a.cpp", "// " + std::string(98, 'x') + "\n") == "a.cpp:1: 101 characters wide\n");
  std::string sums;
  for (int i = 0; i < 97; ++i) {
    sums += "Σ";
  }
  CHECK(said("a.cpp", "// " + sums + "\n").empty());
  CHECK(said("a.md", std::string(300, 'x') + "\n").empty());
}

TEST_CASE("form: a file of code is at most 700 lines long") {
  std::string text;
  for (int i = 0; i < 700; ++i) {
    text += "int a;\n";
  }
  CHECK(said("a.cpp", text).empty());
  CHECK(said("a.cpp", text + "int a;\n") == "a.cpp:0: 701 lines long\n");
}

TEST_CASE("form: a header says pragma once, once, in code") {
  const std::string missing = "a.hpp:0: #pragma once must stand in a header once\n";
  CHECK(said("a.hpp", "#pragma once\n").empty());
  CHECK(said("a.hpp", "int a;\n") == missing);
  CHECK(said("a.hpp", "// #pragma once\n") == missing);
  CHECK(said("a.cuh", "int a;\n") == "a.cuh:0: #pragma once must stand in a header once\n");
  CHECK(said("a.cpp", "int a;\n").empty());
}

TEST_CASE("form: open ends name their issue, silenced warnings their reason, dead code goes") {
  const std::string open_end = std::string("TO") + "DO";
  const std::string silenced = std::string("NO") + "LINT";
  CHECK(said("a.cpp", "// " + open_end + " later\n") ==
        "a.cpp:1: an open end without the number of its issue\n");
  CHECK(said("a.cpp", "// " + open_end + "(#12) later\n").empty());
  CHECK(said("a.cpp", "int a;  // " + silenced + "\n") ==
        "a.cpp:1: a warning silenced without a reason\n");
  CHECK(said("a.cpp", "int a;  // " + silenced + "(misc-x)\n") ==
        "a.cpp:1: a warning silenced without a reason\n");
  CHECK(said("a.cpp", "int a;  // " + silenced + "(misc-x): read once at start\n").empty());
  CHECK(said("a.cpp", "int a;  // " + silenced + ": read once at start\n").empty());
  CHECK(said("a.cpp", "// " + silenced + "END(misc-x)\n").empty());
  CHECK(said("a.cpp", "#if 0\n#endif\n") == "a.cpp:1: code that is switched off\n");
}

TEST_CASE("form: the name of a test has no semicolon") {
  CHECK(said("a_test.cpp", "TEST_CASE(\"a; b\") {\n") ==
        "a_test.cpp:1: a semicolon in the name of a test\n");
  CHECK(said("a_test.cpp", "TEST_CASE(\"a, b\") {\n").empty());
}

TEST_CASE("form: every file of the tree is written so") {
  std::string findings;
  for (const SourceFile& file : read_tree(EPLB_SOURCE_DIR)) {
    findings += report(form_findings(file));
  }
  CHECK(findings == "");
}

TEST_CASE("form: the tree that is read holds the files that we know") {
  const std::vector<SourceFile> files = read_tree(EPLB_SOURCE_DIR);
  const auto holds = [&](std::string_view path) {
    return std::ranges::count(files, path, &SourceFile::path) == 1;
  };
  CHECK(holds("core/include/eplb/core/ids.hpp"));
  CHECK(holds("core/src/assert.cpp"));
  CHECK(holds("tests/unit/structure/form_rules_test.cpp"));
  CHECK(holds("gpu/include/eplb/gpu/device/mapping.cuh"));
  CHECK(holds("tests/gpu/replica_choice_gpu_test.cu"));
  CHECK(holds("CMakeLists.txt"));
  CHECK(holds(".ci/run"));
  CHECK(std::ranges::none_of(files, [](const SourceFile& file) {
    return file.path.starts_with("build/") || file.path.starts_with(".git/");
  }));
}

}  // namespace
}  // namespace eplb::test
