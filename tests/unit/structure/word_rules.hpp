#pragma once

#include <vector>

#include "source_tree.hpp"

namespace eplb::test {

/// Words that a file's folder does without: what would make two runs of a seed differ, what asks
/// which world it runs in, and what the house has its own word for. Comments and literals may name
/// them.
[[nodiscard]] std::vector<Finding> word_findings(const SourceFile& file);

}  // namespace eplb::test
