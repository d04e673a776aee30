#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "eplb/core/balancedness.hpp"
#include "eplb/sim/simulation.hpp"

namespace eplb::sim {

/// Gathers what a run's steps were like. A step lasts from the start of its forward to the start of
/// the next, so that holds belong to the step they follow and the steps add up to the run.
class RunStatistics {
 public:
  struct Forward {
    std::int64_t expert_layers_ns = 0;  ///< With the first one's wait for the last rank,
    std::int64_t arrival_ns = 0;        ///< which is so long.
    std::int64_t others_ns = 0;
    std::int64_t balancer_ns = 0;  ///< Kernels and waits that EPLB adds.
    Balancedness balancedness;
    std::optional<double> exact_split;    ///< Balancedness that it would reach, if anybody asks.
    std::optional<double> network_share;  ///< Of rows, where there are several NVLink domains.
  };

  void start_forward(std::int64_t now_ns, const Forward& forward);

  void end_forward(std::int64_t now_ns) { forward_end_ns_ = now_ns; }

  /// Of the time between two forwards.
  struct Gap {
    std::int64_t held_ns = 0;
    std::int64_t late_ns = 0;  ///< By hosts, for reasons of their own; the device is idle.
  };

  /// The next forward begins. What lies between is what hosts were late by, what the ranks held,
  /// and the commits' copies.
  void end_step(std::int64_t now_ns, const Gap& gap);

  [[nodiscard]] bool in_step() const { return in_step_; }

  /// What the forwards to come are served by: whether a layer was ever committed, and whether a
  /// whole rearrangement was.
  void note_serving(bool any_commit, bool any_rearrangement) {
    any_commit_ = any_commit;
    any_rearrangement_ = any_rearrangement;
  }

  /// Steps that have ended, those before the last start_over included.
  [[nodiscard]] std::int64_t step_count() const {
    return steps_before_ + static_cast<std::int64_t>(step_ns_.size());
  }

  /// Forgets all that was gathered: the group has warmed up.
  void start_over();

  /// Steps, times, balancedness and holds; the rest is the run's to fill in.
  [[nodiscard]] SimulationResult summary() const;

 private:
  struct Mean {
    double sum = 0;
    std::int64_t count = 0;

    void add(double value) {
      sum += value;
      ++count;
    }

    [[nodiscard]] std::optional<double> value() const {
      return count > 0 ? std::optional<double>(sum / static_cast<double>(count)) : std::nullopt;
    }
  };

  std::int64_t steps_before_ = 0;
  std::vector<std::int64_t> step_ns_;
  std::int64_t step_start_ns_ = 0;
  std::int64_t forward_end_ns_ = 0;
  std::int64_t undisturbed_ns_ = 0;  ///< Of the forward at hand.
  std::int64_t slowed_ns_ = 0;       ///< What forwards lasted beyond that.
  std::int64_t idle_ns_ = 0;
  std::int64_t expert_layers_ns_ = 0;
  std::int64_t arrival_ns_ = 0;
  std::int64_t others_ns_ = 0;
  std::int64_t balancer_ns_ = 0;
  std::int64_t hold_count_ = 0;
  std::int64_t hold_ns_ = 0;
  std::int64_t commit_count_ = 0;
  std::int64_t commit_ns_ = 0;
  bool in_step_ = false;
  bool any_commit_ = false;
  bool any_rearrangement_ = false;
  Mean balancedness_;
  Mean min_layer_;
  Mean before_;
  Mean after_;
  Mean exact_split_;
  Mean network_share_;
};

}  // namespace eplb::sim
