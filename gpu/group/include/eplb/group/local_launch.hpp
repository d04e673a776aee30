#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "eplb/core/result.hpp"

namespace eplb::group {

struct LaunchOptions {
  std::int32_t process_count = 1;
  std::vector<std::string> command;  ///< The program, sought in PATH, and its arguments.
  /// On top of this process' own environment.
  std::vector<std::pair<std::string, std::string>> environment = {};
  /// Their output passes through by lines, each after `[process] `; where these are null it is left
  /// as it is and goes where this process' own goes.
  std::FILE* output = stdout;
  std::FILE* errors = stderr;
  std::int64_t grace_ms = 5'000;  ///< For the others to end by themselves once one has failed.
};

/// How a process ended: by an exit status or by a signal.
struct ProcessEnd {
  std::int32_t process = 0;
  std::int32_t exit_status = 0;
  std::int32_t signal = 0;  ///< 0 if it exited.
  bool was_killed = false;  ///< By the launcher, after the grace.

  [[nodiscard]] bool ok() const { return exit_status == 0 && signal == 0; }
};

struct LaunchEnd {
  std::vector<ProcessEnd> processes;  ///< One each, in order.
  std::int32_t first_failed = -1;     ///< The process that failed first; -1 if none did.
  std::int32_t interrupted_by = 0;    ///< SIGINT or SIGTERM that came; 0 if none did.
};

/// Runs `process_count` processes of one command on this host and waits for all of them. Each is
/// told its place as EPLB_PROCESS and the like (find_process_place). SIGINT and SIGTERM are handed
/// on. Once one has failed, or a signal came, the others have the grace to end; then they are
/// killed with all that they started. They die with the launcher too, however that ends, as long as
/// the calling thread is its first. kInvalidArgument for a command that cannot be run.
///
/// Blocks those signals for the calling thread meanwhile: no other thread may take them.
[[nodiscard]] Result<LaunchEnd> launch_local(const LaunchOptions& options);

}  // namespace eplb::group
