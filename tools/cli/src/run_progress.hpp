#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "eplb/cli/command.hpp"
#include "eplb/cli/progress.hpp"

namespace eplb::cli {

/// Shows how far all runs of a command are, and how long the rest will take at the pace so far.
class RunProgress {
 public:
  using Clock = std::chrono::steady_clock;

  explicit RunProgress(const Streams& streams) : line_(streams), begin_(Clock::now()) {}

  /// `steps_done` of all runs, at least 1.
  void show(std::string_view name, std::int64_t steps_done, std::int64_t step_total);

  /// Counts the time from now on, for other runs.
  void restart() {
    begin_ = Clock::now();
    shown_s_ = 0;
  }

  void clear() { line_.clear(); }

 private:
  Progress line_;
  Clock::time_point begin_;
  double shown_s_ = 0;
};

[[nodiscard]] double seconds_since(RunProgress::Clock::time_point begin);

}  // namespace eplb::cli
