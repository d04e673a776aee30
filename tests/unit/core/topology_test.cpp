// Goal: ranks fill nodes and domains in order. Method: a group whose last node is partly used.
#include "eplb/core/topology.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace eplb {
namespace {

TEST_CASE("consecutive ranks fill nodes and domains, the last ones partly") {
  const Topology topology =
      Topology::create({.rank_count = 11, .ranks_per_node = 4, .ranks_per_domain = 8}).value();
  std::vector<std::int32_t> nodes;
  std::vector<std::int32_t> domains;
  for (std::int32_t rank = 0; rank < topology.rank_count(); ++rank) {
    nodes.push_back(topology.node_of(RankId{rank}).value);
    domains.push_back(topology.domain_of(RankId{rank}).value);
  }
  CHECK(nodes == std::vector<std::int32_t>{0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2});
  CHECK(domains == std::vector<std::int32_t>{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1});
  CHECK(topology.node_count() == 3);
  CHECK(topology.domain_count() == 2);
}

TEST_CASE("nodes larger than the group make one node") {
  const Topology topology =
      Topology::create({.rank_count = 2, .ranks_per_node = 8, .ranks_per_domain = 72}).value();
  CHECK(topology.node_count() == 1);
  CHECK(topology.domain_count() == 1);
}

TEST_CASE("a policy packs into the nodes only where they divide the ranks") {
  const auto packing_nodes = [](std::int32_t ranks, std::int32_t ranks_per_node) {
    return Topology::create({.rank_count = ranks, .ranks_per_node = ranks_per_node})
        .value()
        .packing_node_count();
  };
  CHECK(packing_nodes(32, 4) == 8);
  CHECK(packing_nodes(7, 4) == 1);
  CHECK(packing_nodes(11, 4) == 1);
  // As the reference counts them: two nodes divide six ranks, though they hold four and two.
  CHECK(packing_nodes(6, 4) == 2);
}

TEST_CASE("a topology needs positive counts") {
  const auto code = [](const Topology::Options& options) {
    const auto topology = Topology::create(options);
    return topology ? ErrorCode::kInternal : topology.error().code;
  };
  CHECK(code({.rank_count = 0}) == ErrorCode::kInvalidArgument);
  CHECK(code({.rank_count = -1}) == ErrorCode::kInvalidArgument);
  CHECK(code({.rank_count = 4, .ranks_per_node = 0}) == ErrorCode::kInvalidArgument);
  CHECK(code({.rank_count = 4, .ranks_per_node = 4, .ranks_per_domain = -1}) ==
        ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace eplb
