#include "shortest_circle.hpp"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/strong_components.hpp>
#include <deque>

namespace eplb::sim {
namespace {

constexpr std::int32_t kUnseen = -1;

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

}  // namespace

std::vector<std::int32_t> components_of(const std::vector<std::vector<std::int32_t>>& successors) {
  boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS> graph(successors.size());
  for (std::size_t node = 0; node < successors.size(); ++node) {
    for (const std::int32_t next : successors[node]) {
      boost::add_edge(node, at(next), graph);
    }
  }
  std::vector<std::int32_t> components(successors.size(), 0);
  boost::strong_components(graph, boost::make_iterator_property_map(
                                      components.begin(), boost::get(boost::vertex_index, graph)));
  return components;
}

std::vector<std::int32_t> shortest_path(const std::vector<std::vector<std::int32_t>>& successors,
                                        std::int32_t from, std::int32_t to) {
  std::vector<std::int32_t> before(successors.size(), kUnseen);
  std::deque<std::int32_t> open = {from};
  while (!open.empty()) {
    const std::int32_t node = open.front();
    open.pop_front();
    for (const std::int32_t next : successors[at(node)]) {
      if (next == to) {
        std::vector<std::int32_t> path = {to};
        for (std::int32_t step = node; step != from; step = before[at(step)]) {
          path.push_back(step);
        }
        path.push_back(from);
        std::ranges::reverse(path);
        return path;
      }
      if (before[at(next)] == kUnseen && next != from) {
        before[at(next)] = node;
        open.push_back(next);
      }
    }
  }
  return {};
}

std::vector<std::int32_t> shortest_circle(
    const std::vector<std::vector<std::int32_t>>& successors) {
  const std::vector<std::int32_t> components = components_of(successors);
  std::vector<std::vector<std::int32_t>> inner(successors.size());
  for (std::size_t node = 0; node < successors.size(); ++node) {
    std::ranges::copy_if(successors[node], std::back_inserter(inner[node]), [&](std::int32_t next) {
      return components[at(next)] == components[node];
    });
  }
  std::vector<std::int32_t> best;
  for (std::int32_t node = 0; at(node) < successors.size(); ++node) {
    std::vector<std::int32_t> path = shortest_path(inner, node, node);
    if (!path.empty() && (best.empty() || path.size() < best.size() + 1)) {
      path.pop_back();
      best = std::move(path);
    }
  }
  return best;
}

}  // namespace eplb::sim
