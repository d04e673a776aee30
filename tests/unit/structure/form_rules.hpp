#pragma once

#include <cstdint>
#include <vector>

#include "source_tree.hpp"

namespace eplb::test {

inline constexpr std::int32_t kLineWidthMax = 100;  ///< In characters.
inline constexpr std::int32_t kFileLinesMax = 700;

/// How a file is written: no tab and no space at a line's end, in any file; and in C++ and CUDA the
/// width of a line, the length of a file, `#pragma once`, no code that is switched off, no open end
/// without an issue, and a reason beside every silenced warning.
[[nodiscard]] std::vector<Finding> form_findings(const SourceFile& file);

}  // namespace eplb::test
