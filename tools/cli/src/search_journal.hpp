#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "eplb/core/result.hpp"
#include "search_evaluations.hpp"

namespace eplb::cli {

/// Whose evaluations a journal holds. The results of another program may differ, so its version
/// counts too.
struct JournalOwner {
  std::string version;
  std::uint64_t config_digest = 0;
};

/// Adds the evaluations of a journal to `known`. A last line that a killed process has left torn is
/// passed over. kInvalidArgument, with file and line, if the file is no journal, is another
/// configuration's or program's, or has another result than `known` for the same run.
[[nodiscard]] Result<void> read_journal(const std::filesystem::path& path,
                                        const JournalOwner& owner, Evaluations& known);

/// A file with a line of JSON for each evaluation, behind a first line that says whose they are.
/// Whatever `add` has returned from is on the disk, so that a killed search goes on from it.
class Journal {
 public:
  /// Begins the file, or reads it as read_journal does and goes on behind its last whole line. Held
  /// against other processes on this host; kInvalidArgument if one of them has it.
  [[nodiscard]] static Result<Journal> open(const std::filesystem::path& path,
                                            const JournalOwner& owner, Evaluations& known);

  ~Journal();
  Journal(Journal&& other) noexcept;
  Journal& operator=(Journal&& other) = delete;
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  [[nodiscard]] Result<void> add(const EvaluationKey& key, const Evaluation& evaluation);

 private:
  Journal(std::filesystem::path path, int file) : path_(std::move(path)), file_(file) {}

  /// Appends a line and waits until the disk has it.
  [[nodiscard]] Result<void> write_line(std::string line);

  std::filesystem::path path_;
  int file_;  ///< -1 once moved from.
};

}  // namespace eplb::cli
