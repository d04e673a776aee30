#pragma once

#include <vector>

#include "source_tree.hpp"

namespace eplb::test {

/// The includes of a file that its folder may not have, by the table of docs/architecture.md.
/// Files outside the table's folders may include anything.
[[nodiscard]] std::vector<Finding> include_findings(const SourceFile& file);

}  // namespace eplb::test
