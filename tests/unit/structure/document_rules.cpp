#include "document_rules.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

namespace eplb::test {
namespace {

bool is_group(std::string_view heading) {
  constexpr std::array<std::string_view, 7> kGroups{"Added", "Changed",  "Deprecated", "Removed",
                                                    "Fixed", "Security", "Performance"};
  return std::ranges::find(kGroups, heading) != kGroups.end();
}

/// `[0.1.0] - 2026-01-31` or `[0.1.0] - unreleased`: the version, or nothing if it is no such.
std::string_view version_in(std::string_view heading) {
  const std::size_t close = heading.find("] - ");
  if (!heading.starts_with('[') || close == std::string_view::npos) {
    return "";
  }
  const std::string_view date = heading.substr(close + 4);
  const bool dated = date.size() == 10 && date[4] == '-' && date[7] == '-' &&
                     date.find_first_not_of("0123456789-") == std::string_view::npos;
  return dated || date == "unreleased" ? heading.substr(1, close - 1) : "";
}

/// Where a link leads, from the root of the tree, without its anchor; empty if out of the tree.
std::string target_of(const std::string& document, std::string_view link) {
  link = link.substr(0, std::min(link.find('#'), link.size()));
  if (link.empty() || link.find("://") != std::string_view::npos || link.starts_with("mailto:")) {
    return "";
  }
  const std::filesystem::path folder = std::filesystem::path(document).parent_path();
  return (folder / link).lexically_normal().generic_string();
}

std::vector<std::string_view> links_of(std::string_view line) {
  std::vector<std::string_view> links;
  std::size_t at = 0;
  while ((at = line.find("](", at)) != std::string_view::npos) {
    at += 2;
    const std::size_t close = std::min(line.find(')', at), line.size());
    links.push_back(line.substr(at, close - at));
  }
  return links;
}

}  // namespace

std::vector<Finding> changelog_findings(const SourceFile& changelog, std::string_view version) {
  std::vector<Finding> findings;
  std::int32_t number = 0;
  const auto object = [&](std::string message) {
    findings.push_back({changelog.path, number, std::move(message)});
  };
  std::string_view first;
  for (const std::string_view line : changelog.lines) {
    ++number;
    if (line.starts_with("### ") && !is_group(line.substr(4))) {
      object("no group of changes is named so");
    }
    if (!line.starts_with("## ") || (line == "## [Unreleased]" && first.empty())) {
      continue;
    }
    const std::string_view named = version_in(line.substr(3));
    if (named.empty()) {
      object("a heading is `## [version] - date`");
    } else if (first.empty() && named != version) {
      object("the newest version is " + std::string(named) + ", VERSION says " +
             std::string(version));
    }
    first = first.empty() ? named : first;
  }
  if (first.empty()) {
    number = 0;
    object("no version");
  }
  return findings;
}

std::vector<Finding> link_findings(const SourceFile& document,
                                   const std::function<bool(const std::string&)>& exists) {
  std::vector<Finding> findings;
  bool in_code = false;
  for (std::size_t index = 0; index < document.lines.size(); ++index) {
    const std::string_view line = document.lines[index];
    in_code = line.starts_with("```") ? !in_code : in_code;
    if (in_code) {
      continue;
    }
    for (const std::string_view link : links_of(line)) {
      const std::string target = target_of(document.path, link);
      if (!target.empty() && !exists(target)) {
        findings.push_back({document.path, static_cast<std::int32_t>(index) + 1,
                            std::string(link) + " is not there"});
      }
    }
  }
  return findings;
}

}  // namespace eplb::test
