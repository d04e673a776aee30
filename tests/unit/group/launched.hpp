#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "eplb/group/local_launch.hpp"

namespace eplb::test {

/// Collects what launched processes print.
class Output {
 public:
  Output() : file_(std::tmpfile()) {}

  ~Output() { std::fclose(file_); }

  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  Output(Output&&) = delete;
  Output& operator=(Output&&) = delete;

  [[nodiscard]] std::FILE* file() const { return file_; }

  /// As far as it has come; may be asked while it grows.
  [[nodiscard]] std::vector<std::string> lines() const;

 private:
  std::FILE* file_;
};

/// Options to launch eplb_group_process with.
[[nodiscard]] group::LaunchOptions process_launch(std::int32_t count,
                                                  std::vector<std::string> arguments,
                                                  const Output& output);

}  // namespace eplb::test
