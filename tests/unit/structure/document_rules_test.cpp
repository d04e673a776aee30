// Goal: what the documents say of the tree is so. Method: planted documents, then ours.
#include "document_rules.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "source_tree.hpp"

namespace eplb::test {
namespace {

const std::string kRoot = EPLB_SOURCE_DIR "/";

std::string changelog_said(const std::string& text) {
  return report(changelog_findings(parse_source("CHANGELOG.md", text), "0.2.0"));
}

std::string links_said(const std::string& text) {
  return report(link_findings(parse_source("docs/a.md", text), [](const std::string& path) {
    return path == "docs/b.md" || path == "LICENSE";
  }));
}

TEST_CASE("documents: a change log whose newest version is VERSION is well") {
  CHECK(changelog_said("# Changelog\n\n## [0.2.0] - 2026-01-31\n\n### Added\n").empty());
  CHECK(changelog_said("## [Unreleased]\n## [0.2.0] - unreleased\n## [0.1.0] - 2025-12-01\n")
            .empty());
}

TEST_CASE("documents: a change log is caught with another version, heading, group, or none") {
  CHECK(changelog_said("## [0.1.0] - 2026-01-31\n") ==
        "CHANGELOG.md:1: the newest version is 0.1.0, VERSION says 0.2.0\n");
  CHECK(changelog_said("## [0.2.0] - soon\n") ==
        "CHANGELOG.md:1: a heading is `## [version] - date`\nCHANGELOG.md:0: no version\n");
  CHECK(changelog_said("## [0.2.0] - 2026-01-31\n### News\n") ==
        "CHANGELOG.md:2: no group of changes is named so\n");
  CHECK(changelog_said("# Changelog\n") == "CHANGELOG.md:0: no version\n");
}

TEST_CASE("documents: a link to nothing is caught, links elsewhere and code are not followed") {
  CHECK(links_said("[b](b.md), [b](b.md#part), [l](../LICENSE) and [top](#top)\n").empty());
  CHECK(links_said("see\n[b](b.md) and [c](c.md#part)\n") ==
        "docs/a.md:2: c.md#part is not there\n");
  CHECK(links_said("[w](https://example.org/x) and [m](mailto:a@example.org)\n").empty());
  CHECK(links_said("```\n[c](c.md)\n```\n[d](d.md)\n") == "docs/a.md:4: d.md is not there\n");
}

TEST_CASE("documents: our change log begins with our version") {
  std::string version = read_text(kRoot + "VERSION");
  REQUIRE(version.ends_with('\n'));
  version.pop_back();
  const SourceFile changelog = parse_source("CHANGELOG.md", read_text(kRoot + "CHANGELOG.md"));
  CHECK(report(changelog_findings(changelog, version)) == "");
}

TEST_CASE("documents: every link between our documents leads somewhere") {
  std::string findings;
  for (const SourceFile& file : read_tree(EPLB_SOURCE_DIR)) {
    if (file.path.ends_with(".md")) {
      findings += report(link_findings(
          file, [](const std::string& path) { return std::filesystem::exists(kRoot + path); }));
    }
  }
  CHECK(findings == "");
}

TEST_CASE("documents: the README is at most 150 lines and shows the two commands") {
  const std::string text = read_text(kRoot + "README.md");
  CHECK(parse_source("README.md", text).lines.size() <= 150);
  for (const std::string command : {"tools/quickstart.sh", "tools/test.sh"}) {
    CAPTURE(command);
    CHECK(text.find(command) != std::string::npos);
    CHECK(std::filesystem::exists(kRoot + command));
  }
}

}  // namespace
}  // namespace eplb::test
