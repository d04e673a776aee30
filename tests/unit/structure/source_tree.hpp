#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace eplb::test {

/// A file of the tree as the checks see it.
struct SourceFile {
  std::string path;                ///< From the root of the tree, with '/'.
  std::vector<std::string> lines;  ///< As written, without line ends.
  std::vector<std::string> code;   ///< C++ only: the same lines without comments, literals emptied.
  bool ends_with_newline = false;
};

/// A rule that a line breaks. `line` counts from 1; 0 speaks of the whole file.
struct Finding {
  std::string path;
  std::int32_t line = 0;
  std::string message;
};

/// `path:line: message`, one a line; empty if there is nothing to say.
[[nodiscard]] std::string report(const std::vector<Finding>& findings);

[[nodiscard]] bool is_header(std::string_view path);  ///< .hpp or .cuh
[[nodiscard]] bool is_device(std::string_view path);  ///< .cu or .cuh
[[nodiscard]] bool is_cpp(std::string_view path);     ///< Any C++ or CUDA file.

[[nodiscard]] SourceFile parse_source(std::string path, std::string_view text);

/// All text files of ours under `root`, by path. Build trees, hidden folders and what no rule is
/// about (data, transcripts) are left out.
[[nodiscard]] std::vector<SourceFile> read_tree(std::string_view root);

/// The text of one file; empty if it is not there.
[[nodiscard]] std::string read_text(const std::string& path);

}  // namespace eplb::test
