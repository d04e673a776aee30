#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "eplb/core/policy.hpp"

namespace eplb::test {

/// A policy that always answers the same, and remembers what it was asked.
class FixedPolicy final : public PlacementPolicy {
 public:
  explicit FixedPolicy(Result<Placement> answer) : answer_(std::move(answer)) {}

  [[nodiscard]] std::string_view name() const override { return "fixed"; }

  [[nodiscard]] Result<Placement> place(const PolicyProblem& problem) const override {
    ++call_count_;
    last_window_ = window_load(problem);
    last_history_size_ = problem.history.size();
    return answer_;
  }

  [[nodiscard]] int call_count() const { return call_count_; }

  [[nodiscard]] const RealLoadMatrix& last_window() const { return last_window_; }

  [[nodiscard]] std::size_t last_history_size() const { return last_history_size_; }

 private:
  Result<Placement> answer_;
  mutable int call_count_ = 0;
  mutable RealLoadMatrix last_window_;
  mutable std::size_t last_history_size_ = 0;
};

/// All layers alike, from plain numbers.
[[nodiscard]] inline Placement placement_of(const Shape& shape,
                                            const std::vector<std::int32_t>& occupants) {
  std::vector<LogicalExpertId> experts;
  experts.reserve(occupants.size());
  for (const std::int32_t expert : occupants) {
    experts.push_back(LogicalExpertId{expert});
  }
  const std::vector<LayerPlacement> layers(static_cast<std::size_t>(shape.layer_count),
                                           LayerPlacement::create(shape, experts).value());
  return Placement::create(shape, layers).value();
}

}  // namespace eplb::test
