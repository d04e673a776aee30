#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace eplb::group {

/// Passes a child's output on, line by line, each with the child's number before it, so that the
/// lines of several children do not mix.
class LineNamer {
 public:
  LineNamer() = default;
  LineNamer(std::int32_t process, std::FILE* target);

  /// Reads what has come, without waiting. False at the end of the output.
  bool pass_on(int descriptor);

  /// Writes out a last line that has no end.
  void finish();

 private:
  void write_line(const std::string& line) const;

  std::string prefix_;
  std::FILE* target_ = nullptr;
  std::string begun_;
};

}  // namespace eplb::group
