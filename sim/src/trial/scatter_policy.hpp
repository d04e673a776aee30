#pragma once

#include <cstdint>
#include <string_view>

#include "eplb/core/policy.hpp"

namespace eplb::sim {

/// Places experts at random, as a function of the load: nearly every slot changes at every plan, an
/// expert may have several copies on a rank, some layers stay as they are. No balancer wants it; it
/// asks the most of a migration.
class ScatterPolicy final : public PlacementPolicy {
 public:
  explicit ScatterPolicy(std::uint64_t seed) : seed_(seed) {}

  [[nodiscard]] std::string_view name() const override { return "scatter"; }

  [[nodiscard]] Result<Placement> place(const PolicyProblem& problem) const override;

 private:
  std::uint64_t seed_;
};

}  // namespace eplb::sim
