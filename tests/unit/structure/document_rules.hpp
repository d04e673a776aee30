#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "source_tree.hpp"

namespace eplb::test {

/// Holds a change log to the form of keepachangelog.com: `## [Unreleased]` if at all first, then
/// `## [version] - date`, whose first is `version`; below them `### Added` and its like.
[[nodiscard]] std::vector<Finding> changelog_findings(const SourceFile& changelog,
                                                      std::string_view version);

/// Links of a Markdown file to files that `exists` denies. It is asked with paths from the root of
/// the tree. Links elsewhere, and what stands in code blocks, are not followed.
[[nodiscard]] std::vector<Finding> link_findings(
    const SourceFile& document, const std::function<bool(const std::string&)>& exists);

}  // namespace eplb::test
