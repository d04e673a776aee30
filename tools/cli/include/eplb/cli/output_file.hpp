#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "eplb/core/result.hpp"

namespace eplb::cli {

/// Where a command's `--json`, or another result, goes: nowhere, the standard output, or a file
/// that appears whole or not at all.
class OutputFile {
 public:
  /// `target` is the option's value: none, "-" or a path. A path is tried at once, by the file
  /// beside it that write will fill, so that no long run ends in a message that it was in vain.
  /// `out` must outlive the object.
  [[nodiscard]] static Result<OutputFile> open(const std::optional<std::string>& target,
                                               std::ostream& out);

  ~OutputFile();
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) = delete;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Whether the standard output belongs to it, so that a table for people has no place
  /// there.
  [[nodiscard]] bool takes_standard_output() const { return is_standard_output_; }

  /// Whether anybody wants to have it.
  [[nodiscard]] bool wanted() const { return is_standard_output_ || !path_.empty(); }

  /// Writes one line, then puts the file in its place. At most once.
  [[nodiscard]] Result<void> write(const nlohmann::ordered_json& document);

  /// The same with what `writer` puts out.
  [[nodiscard]] Result<void> write(const std::function<void(std::ostream&)>& writer);

 private:
  explicit OutputFile(std::ostream& out) : out_(&out) {}

  [[nodiscard]] Result<void> open_file();

  std::ostream* out_;
  bool is_standard_output_ = false;
  std::filesystem::path path_;       ///< Empty if there is no file.
  std::filesystem::path temporary_;  ///< Empty if the path is no regular file, as /dev/null.
};

}  // namespace eplb::cli
