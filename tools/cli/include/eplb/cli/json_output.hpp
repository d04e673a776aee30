#pragma once

#include <filesystem>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "eplb/core/result.hpp"

namespace eplb::cli {

/// Where a command's `--json` goes: nowhere, the standard output, or a file that appears whole or
/// not at all.
class JsonOutput {
 public:
  /// `target` is the option's value: none, "-" or a path. A path is tried at once, by the empty
  /// file beside it that write will fill, so that no long run ends in a message that it was in
  /// vain. `out` must outlive the object.
  [[nodiscard]] static Result<JsonOutput> open(const std::optional<std::string>& target,
                                               std::ostream& out);

  ~JsonOutput();
  JsonOutput(JsonOutput&& other) noexcept;
  JsonOutput& operator=(JsonOutput&& other) = delete;
  JsonOutput(const JsonOutput&) = delete;
  JsonOutput& operator=(const JsonOutput&) = delete;

  /// Whether the standard output belongs to the JSON, so that a table for people has no place
  /// there.
  [[nodiscard]] bool takes_standard_output() const { return is_standard_output_; }

  /// Writes one line, then puts the file in its place. At most once.
  [[nodiscard]] Result<void> write(const nlohmann::ordered_json& document);

 private:
  explicit JsonOutput(std::ostream& out) : out_(&out) {}

  [[nodiscard]] Result<void> open_file();

  std::ostream* out_;
  bool is_standard_output_ = false;
  std::filesystem::path path_;       ///< Empty if there is no file.
  std::filesystem::path temporary_;  ///< Empty if the path is no regular file, as /dev/null.
};

}  // namespace eplb::cli
