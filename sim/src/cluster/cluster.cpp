#include "eplb/sim/cluster/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/filtered_graph.hpp>
#include <map>
#include <utility>

#include "eplb/core/assert.hpp"

namespace eplb::sim {
namespace {

/// What an edge is a part of; a path takes edges of some kinds only.
enum class EdgeKind : std::uint8_t { kNvlink, kHostLink, kCardLink, kHostCard, kNetwork };

struct Vertex {
  std::string name;
};

struct Edge {
  EdgeKind kind = EdgeKind::kNetwork;
  std::int32_t node = -1;  ///< Where the edge is one of a card's: of which node,
  std::int32_t nic = -1;   ///< and which of its cards.
  ResourceId resource = {};
};

using Adjacency = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, Vertex, Edge>;
using VertexId = boost::graph_traits<Adjacency>::vertex_descriptor;

bool belongs(EdgeKind kind, Path path) {
  switch (path) {
    case Path::kNvlink:
      return kind == EdgeKind::kNvlink;
    case Path::kNetwork:
      return kind == EdgeKind::kCardLink || kind == EdgeKind::kNetwork;
    case Path::kHost:
      return kind == EdgeKind::kHostLink || kind == EdgeKind::kHostCard ||
             kind == EdgeKind::kNetwork;
  }
  return false;
}

struct Card {
  std::int32_t node = -1;
  std::int32_t nic = -1;
};

/// Edges of a path, and of the cards only those of one rail.
struct OnPath {
  const Adjacency* graph = nullptr;
  Path path = Path::kNvlink;
  Card out;
  Card in;

  template <typename E>
  bool operator()(const E& edge) const {
    const Edge& properties = (*graph)[edge];
    const auto is = [&](const Card& card) {
      return properties.node == card.node && properties.nic == card.nic;
    };
    const bool rail = properties.nic < 0 || is(out) || is(in);
    return rail && belongs(properties.kind, path);
  }
};

}  // namespace

struct Cluster::Graph {
  Adjacency edges;
  std::vector<VertexId> gpus;  ///< By rank.

  VertexId vertex(std::string name) { return boost::add_vertex({std::move(name)}, edges); }

  void edge(VertexId from, VertexId to, const Edge& properties) {
    boost::add_edge(from, to, properties, edges);
  }
};

double nvlink_peak_gb_per_s(const HardwareOptions& hardware) {
  return hardware.nvlink_peak_gb_per_s.value_or(
      std::max(hardware.nvlink_bandwidth_gb_per_s, hardware.peer_copy_bandwidth_gb_per_s));
}

std::int32_t nics_per_node(const HardwareOptions& hardware) {
  return hardware.nics_per_node.value_or(hardware.gpus_per_node);
}

double nic_bandwidth_gb_per_s(const HardwareOptions& hardware) {
  return hardware.nic_bandwidth_gb_per_s.value_or(
      std::max(hardware.network_bandwidth_gb_per_s, hardware.network_copy_bandwidth_gb_per_s) /
      hardware.network_rails);
}

Cluster::Cluster(HardwareOptions hardware, Topology topology)
    : hardware_(std::move(hardware)),
      topology_(std::move(topology)),
      graph_(std::make_unique<Graph>()) {
  add_gpus();
  add_networks();
}

Cluster::Cluster(Cluster&& other) noexcept = default;
Cluster& Cluster::operator=(Cluster&& other) noexcept = default;
Cluster::~Cluster() = default;

ResourceId Cluster::add(std::string name, double capacity) {
  resources_.push_back({.name = std::move(name), .capacity = capacity});
  return {static_cast<std::int32_t>(resources_.size()) - 1};
}

void Cluster::add_gpus() {
  const double port = nvlink_peak_gb_per_s(hardware_);
  const double memory = hardware_.hbm_bandwidth_gb_per_s * hardware_.hbm_shared_efficiency;
  std::vector<VertexId> switches;
  switches.reserve(static_cast<std::size_t>(topology_.domain_count()));
  for (std::int32_t domain = 0; domain < topology_.domain_count(); ++domain) {
    switches.push_back(graph_->vertex(fmt::format("NVLink switches {}", domain)));
  }
  std::vector<std::int32_t> filled(static_cast<std::size_t>(topology_.node_count()), 0);
  for (std::int32_t index = 0; index < topology_.rank_count(); ++index) {
    const RankId rank{index};
    Gpu gpu;
    gpu.egress = add(fmt::format("GPU {} NVLink out", index), port);
    gpu.ingress = add(fmt::format("GPU {} NVLink in", index), port);
    gpu.memory = add(fmt::format("GPU {} memory", index), memory);
    gpu.index_in_node = filled[topology_.node_of(rank).index()]++;
    gpus_.push_back(gpu);
    const VertexId vertex = graph_->vertex(fmt::format("GPU {}", index));
    graph_->gpus.push_back(vertex);
    const VertexId domain = switches[topology_.domain_of(rank).index()];
    graph_->edge(vertex, domain, {.kind = EdgeKind::kNvlink, .resource = gpu.egress});
    graph_->edge(domain, vertex, {.kind = EdgeKind::kNvlink, .resource = gpu.ingress});
  }
}

void Cluster::add_networks() {
  const double card = nic_bandwidth_gb_per_s(hardware_);
  const std::int32_t cards = nics_per_node(hardware_);
  std::map<DomainId, VertexId> leaves;
  std::map<DomainId, std::int32_t> cards_of_leaf;
  std::map<NodeId, VertexId> hosts;
  std::map<NodeId, std::vector<VertexId>> nics;
  for (std::int32_t index = 0; index < topology_.rank_count(); ++index) {
    const RankId rank{index};
    const NodeId node = topology_.node_of(rank);
    const DomainId domain = topology_.domain_of(rank);
    if (!leaves.contains(domain)) {
      leaves[domain] = graph_->vertex(fmt::format("leaf {}", domain.value));
    }
    if (!hosts.contains(node)) {
      hosts[node] = graph_->vertex(fmt::format("host {}", node.value));
      cards_of_leaf[domain] += cards;
      for (std::int32_t nic = 0; nic < cards; ++nic) {
        const std::string name = fmt::format("host {} card {}", node.value, nic);
        const VertexId vertex = graph_->vertex(name);
        nics[node].push_back(vertex);
        const ResourceId out = add(name + " out", card);
        const ResourceId in = add(name + " in", card);
        if (nic == 0) {
          first_nics_.push_back(out);
        }
        const VertexId leaf = leaves[domain];
        graph_->edge(vertex, leaf,
                     {.kind = EdgeKind::kNetwork, .node = node.value, .nic = nic, .resource = out});
        graph_->edge(leaf, vertex,
                     {.kind = EdgeKind::kNetwork, .node = node.value, .nic = nic, .resource = in});
        graph_->edge(hosts[node], vertex,
                     {.kind = EdgeKind::kHostCard, .node = node.value, .nic = nic});
        graph_->edge(vertex, hosts[node],
                     {.kind = EdgeKind::kHostCard, .node = node.value, .nic = nic});
      }
    }
    const VertexId gpu = graph_->gpus[rank.index()];
    const double link = hardware_.host_link_bandwidth_gb_per_s;
    const ResourceId up = add(fmt::format("GPU {} to host", index), link);
    const ResourceId down = add(fmt::format("host to GPU {}", index), link);
    graph_->edge(gpu, hosts[node], {.kind = EdgeKind::kHostLink, .resource = up});
    graph_->edge(hosts[node], gpu, {.kind = EdgeKind::kHostLink, .resource = down});
    for (const std::int32_t nic : this->nics(rank)) {
      const VertexId vertex = nics[node][static_cast<std::size_t>(nic)];
      graph_->edge(gpu, vertex, {.kind = EdgeKind::kCardLink, .node = node.value, .nic = nic});
      graph_->edge(vertex, gpu, {.kind = EdgeKind::kCardLink, .node = node.value, .nic = nic});
    }
  }
  const VertexId spine = graph_->vertex("spine");
  for (const auto& [domain, leaf] : leaves) {
    const double uplink = cards_of_leaf[domain] * card / hardware_.network_oversubscription;
    const ResourceId up = add(fmt::format("leaf {} to spine", domain.value), uplink);
    const ResourceId down = add(fmt::format("spine to leaf {}", domain.value), uplink);
    graph_->edge(leaf, spine, {.kind = EdgeKind::kNetwork, .resource = up});
    graph_->edge(spine, leaf, {.kind = EdgeKind::kNetwork, .resource = down});
  }
}

std::int32_t Cluster::vertex_count() const {
  return static_cast<std::int32_t>(boost::num_vertices(graph_->edges));
}

std::int32_t Cluster::edge_count() const {
  return static_cast<std::int32_t>(boost::num_edges(graph_->edges));
}

// GPUs and cards of a node are dealt to each other in order; more rails take the cards that follow.
std::vector<std::int32_t> Cluster::nics(RankId rank) const {
  const std::int32_t cards = nics_per_node(hardware_);
  const std::int64_t index = gpus_[rank.index()].index_in_node;
  const auto first = static_cast<std::int32_t>(index * cards / hardware_.gpus_per_node);
  const std::int32_t rails = std::min(hardware_.network_rails, cards);
  std::vector<std::int32_t> nics;
  nics.reserve(static_cast<std::size_t>(rails));
  for (std::int32_t rail = 0; rail < rails; ++rail) {
    nics.push_back((first + rail) % cards);
  }
  return nics;
}

ResourceId Cluster::nic_out(NodeId node, std::int32_t nic) const {
  return {first_nics_[node.index()].value + 2 * nic};
}

ResourceId Cluster::nic_in(NodeId node, std::int32_t nic) const {
  return {nic_out(node, nic).value + 1};
}

std::vector<Hop> Cluster::route(RankId from, RankId to, Path path, std::int32_t rail) const {
  const auto card_of = [&](RankId rank) {
    const std::vector<std::int32_t> of_rank = nics(rank);
    return Card{.node = node_of(rank).value,
                .nic = of_rank[static_cast<std::size_t>(rail) % of_rank.size()]};
  };
  const OnPath on_path{
      .graph = &graph_->edges, .path = path, .out = card_of(from), .in = card_of(to)};
  const boost::filtered_graph<Adjacency, OnPath> way(graph_->edges, on_path);
  const VertexId none = boost::graph_traits<Adjacency>::null_vertex();
  std::vector<VertexId> before(boost::num_vertices(graph_->edges), none);
  const VertexId start = graph_->gpus[from.index()];
  boost::breadth_first_search(way, start,
                              boost::visitor(boost::make_bfs_visitor(boost::record_predecessors(
                                  before.data(), boost::on_tree_edge()))));
  std::vector<Hop> hops;
  for (VertexId at = graph_->gpus[to.index()]; at != start; at = before[at]) {
    if (before[at] == none) {
      return {};
    }
    const auto edge = boost::edge(before[at], at, graph_->edges).first;
    hops.push_back({.from = graph_->edges[before[at]].name,
                    .to = graph_->edges[at].name,
                    .resource = graph_->edges[edge].resource});
  }
  std::ranges::reverse(hops);
  return hops;
}

void Cluster::add_route(Demand& demand, const std::vector<Hop>& hops, double amount) const {
  for (const Hop& hop : hops) {
    if (hop.resource == ResourceId{}) {
      continue;
    }
    const auto same = std::ranges::find(demand.uses, hop.resource, &Use::resource);
    if (same == demand.uses.end()) {
      demand.uses.push_back({.resource = hop.resource, .amount = amount});
    } else {
      same->amount += amount;
    }
  }
}

Demand Cluster::demand(RankId from, RankId to, Path path, Mover mover) const {
  Demand demand;
  demand.uses = {{.resource = memory(from), .amount = 1}, {.resource = memory(to), .amount = 1}};
  if (path == Path::kNvlink) {
    const double payload = mover == Mover::kCopyEngine ? hardware_.peer_copy_bandwidth_gb_per_s
                                                       : hardware_.nvlink_bandwidth_gb_per_s;
    const double forth = nvlink_peak_gb_per_s(hardware_) / payload;
    add_route(demand, route(from, to, path), forth);
    // Acknowledgements and credits come back the other way.
    const double back = forth * (1 / hardware_.nvlink_bidirectional_efficiency - 1);
    if (back > 0) {
      add_route(demand, route(to, from, path), back);
    }
    return demand;
  }
  if (path == Path::kHost) {
    add_route(demand, route(from, to, path), 1);
    return demand;
  }
  const auto rails = static_cast<double>(nics(from).size());
  const double rate = mover == Mover::kKernel ? hardware_.network_bandwidth_gb_per_s
                                              : hardware_.network_copy_bandwidth_gb_per_s;
  const double efficiency = std::min(1.0, rate / (rails * nic_bandwidth_gb_per_s(hardware_)));
  for (std::int32_t rail = 0; rail < static_cast<std::int32_t>(rails); ++rail) {
    add_route(demand, route(from, to, path, rail), 1 / (rails * efficiency));
  }
  return demand;
}

Demand Cluster::local_demand(RankId rank) const {
  Demand demand;
  demand.uses = {{.resource = memory(rank), .amount = 2}};
  demand.cap = local_copy_gb_per_s(hardware_) / 2;
  return demand;
}

}  // namespace eplb::sim
