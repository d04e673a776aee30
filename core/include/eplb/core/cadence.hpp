#pragma once

#include <cstdint>
#include <optional>

namespace eplb {

/// When to record, to log and to rearrange: the counter of the reference (eplb-semantics 3.2). It
/// must be equal on all ranks, so it depends on the number of steps and on rearrangements alone.
class Cadence {
 public:
  struct Options {
    std::int32_t window_size = 1000;
    std::int32_t step_interval = 3000;
    std::optional<std::int32_t> log_interval = std::nullopt;  ///< None: no log of balancedness.
  };

  /// The counter of a group that starts: the first rearrangement comes after a quarter of the
  /// interval.
  [[nodiscard]] static std::int64_t first_counter(std::int32_t step_interval) {
    return step_interval - step_interval / 4;
  }

  Cadence(const Options& options, std::int64_t counter) : options_(options), counter_(counter) {}

  /// Whether the pass of the step that has just ended is logged. Asked before `advance`.
  [[nodiscard]] bool log_due() const;

  /// One step more, dummy steps too.
  void advance() { ++counter_; }

  /// Whether a rearrangement is due. While one runs the counter goes on past the interval, so that
  /// the next one starts with the first step after its end.
  [[nodiscard]] bool rearrangement_due() const { return counter_ >= options_.step_interval; }

  /// A rearrangement starts.
  void restart() { counter_ = 0; }

  /// A rearrangement was aborted: the next interval tries again, not the next step.
  void wait_for_next_interval() { counter_ %= options_.step_interval; }

  /// Whether the forwards to come are to be counted: those of the last window before a
  /// rearrangement, or before a logged step.
  [[nodiscard]] bool should_record() const;

  /// Negative while a rearrangement overruns.
  [[nodiscard]] std::int64_t steps_until_rearrangement() const {
    return options_.step_interval - counter_;
  }

  [[nodiscard]] std::int64_t counter() const { return counter_; }

 private:
  Options options_;
  std::int64_t counter_;
};

}  // namespace eplb
