#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "eplb/core/load.hpp"
#include "eplb/core/placement.hpp"
#include "eplb/core/policy.hpp"
#include "eplb/core/topology.hpp"
#include "eplb/placement/registry.hpp"
#include "print_vector.hpp"

namespace eplb::test {

/// What a policy is asked for, in one window and without prices.
struct PlanRequest {
  std::string_view policy;
  Shape shape;
  std::int32_t node_count = 1;  ///< Nodes that the ranks fill, the last one perhaps in part.
  const Placement* current = nullptr;
};

/// The policy's answer to a load of [layers, experts].
[[nodiscard]] inline Result<Placement> try_plan(const PlanRequest& request,
                                                const RealLoadMatrix& load) {
  const std::int32_t ranks = request.shape.rank_count;
  const auto topology =
      Topology::create({.rank_count = ranks,
                        .ranks_per_node = (ranks + request.node_count - 1) / request.node_count});
  REQUIRE(topology.has_value());
  const auto policy = placement::make_policy(request.policy);
  REQUIRE(policy.has_value());
  return (*policy)->place({.shape = request.shape,
                           .topology = *topology,
                           .history = std::span(&load, 1),
                           .current = request.current,
                           .costs = {}});
}

/// As try_plan, where a plan must come.
[[nodiscard]] inline Placement plan(const PlanRequest& request, const RealLoadMatrix& load) {
  auto placed = try_plan(request, load);
  if (!placed) {
    FAIL(placed.error().message);
  }
  return *std::move(placed);
}

/// A load of [layers, experts] from its rows, all of one length.
[[nodiscard]] inline RealLoadMatrix load_of(std::initializer_list<std::vector<double>> rows) {
  RealLoadMatrix load(static_cast<Eigen::Index>(rows.size()),
                      static_cast<Eigen::Index>(rows.begin()->size()));
  Eigen::Index layer = 0;
  for (const std::vector<double>& row : rows) {
    load.row(layer++) = Eigen::Map<const Eigen::RowVectorXd>(row.data(), load.cols());
  }
  return load;
}

/// Plain numbers of occupants, as a test writes them down.
[[nodiscard]] inline std::vector<std::int32_t> numbers_of(
    std::span<const LogicalExpertId> occupants) {
  std::vector<std::int32_t> numbers;
  for (const LogicalExpertId expert : occupants) {
    numbers.push_back(expert.value);
  }
  return numbers;
}

[[nodiscard]] inline std::vector<LogicalExpertId> occupants_of(
    std::span<const std::int32_t> numbers) {
  std::vector<LogicalExpertId> occupants;
  for (const std::int32_t number : numbers) {
    occupants.push_back(LogicalExpertId{number});
  }
  return occupants;
}

}  // namespace eplb::test
