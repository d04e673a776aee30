#pragma once

#include <boost/graph/adjacency_list.hpp>
#include <cstdint>
#include <span>
#include <vector>

#include "eplb/core/placement.hpp"

namespace eplb::placement {

/// The flow network of one layer: source -> expert (its load) -> each rank that holds it -> sink (a
/// load that no rank may exceed). All load reaches the sink if and only if some split over replicas
/// keeps every rank at or below that load.
class SplitNetwork {
 public:
  /// `load` is [experts] with the finite, positive sum `total`.
  SplitNetwork(std::span<const double> load, double total, const LayerPlacement& placement);

  /// The experts, in no order, of a set S for which load(S) - rank_load x (ranks that hold any of
  /// S) is largest; empty if it is above zero for no set.
  [[nodiscard]] std::vector<std::int32_t> most_overloaded(double rank_load);

 private:
  using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
  using Edge = Traits::edge_descriptor;
  using Graph = boost::adjacency_list<
      boost::vecS, boost::vecS, boost::directedS, boost::no_property,
      boost::property<boost::edge_capacity_t, std::int64_t,
                      boost::property<boost::edge_residual_capacity_t, std::int64_t,
                                      boost::property<boost::edge_reverse_t, Edge>>>>;
  using Vertex = Traits::vertex_descriptor;

  /// Flow is in whole units of 2^-unit_exponent_ tokens.
  [[nodiscard]] std::int64_t units(double tokens) const;

  Edge connect(Vertex from, Vertex to, std::int64_t capacity);

  int unit_exponent_;
  std::int64_t total_units_ = 0;
  std::int32_t expert_count_;
  Vertex source_;
  Vertex sink_;
  Graph graph_;
  std::vector<Edge> rank_edges_;
};

}  // namespace eplb::placement
