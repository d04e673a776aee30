#include "split_network.hpp"

#include <boost/graph/push_relabel_max_flow.hpp>
#include <cmath>
#include <cstddef>

namespace eplb::placement {
namespace {

/// The load of a layer is this many bits of units, so that sums of capacities stay below 2^63.
constexpr int kTotalBits = 61;

}  // namespace

SplitNetwork::SplitNetwork(std::span<const double> load, double total,
                           const LayerPlacement& placement)
    : unit_exponent_(kTotalBits - (std::ilogb(total) + 1)),
      expert_count_(placement.expert_count()),
      source_(load.size() + static_cast<Vertex>(placement.rank_count())),
      sink_(source_ + 1),
      graph_(sink_ + 1) {
  for (Vertex expert = 0; expert < load.size(); ++expert) {
    const std::int64_t capacity = units(load[expert]);
    connect(source_, expert, capacity);
    total_units_ += capacity;
  }
  for (std::int32_t rank = 0; rank < placement.rank_count(); ++rank) {
    const auto vertex = static_cast<Vertex>(expert_count_) + static_cast<Vertex>(rank);
    for (const LogicalExpertId expert : placement.on_rank(RankId{rank})) {
      if (expert != kNoExpert) {
        connect(expert.index(), vertex, total_units_);
      }
    }
    rank_edges_.push_back(connect(vertex, sink_, 0));
  }
}

std::int64_t SplitNetwork::units(double tokens) const {
  return std::llround(std::ldexp(tokens, unit_exponent_));
}

SplitNetwork::Edge SplitNetwork::connect(Vertex from, Vertex to, std::int64_t capacity) {
  const Edge edge = boost::add_edge(from, to, graph_).first;
  const Edge reverse = boost::add_edge(to, from, graph_).first;
  boost::put(boost::edge_capacity, graph_, edge, capacity);
  boost::put(boost::edge_capacity, graph_, reverse, std::int64_t{0});
  boost::put(boost::edge_reverse, graph_, edge, reverse);
  boost::put(boost::edge_reverse, graph_, reverse, edge);
  return edge;
}

std::vector<std::int32_t> SplitNetwork::most_overloaded(double rank_load) {
  for (const Edge edge : rank_edges_) {
    boost::put(boost::edge_capacity, graph_, edge, units(rank_load));
  }
  if (boost::push_relabel_max_flow(graph_, source_, sink_) == total_units_) {
    return {};
  }
  // The source's side of a least cut is what residual capacity still reaches from it.
  std::vector<bool> reached(sink_ + 1, false);
  std::vector<Vertex> open{source_};
  reached[source_] = true;
  std::vector<std::int32_t> experts;
  while (!open.empty()) {
    const Vertex from = open.back();
    open.pop_back();
    if (from < static_cast<Vertex>(expert_count_)) {
      experts.push_back(static_cast<std::int32_t>(from));
    }
    for (auto [edge, end] = boost::out_edges(from, graph_); edge != end; ++edge) {
      const Vertex to = boost::target(*edge, graph_);
      if (!reached[to] && boost::get(boost::edge_residual_capacity, graph_, *edge) > 0) {
        reached[to] = true;
        open.push_back(to);
      }
    }
  }
  return experts;
}

}  // namespace eplb::placement
