#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "eplb/core/topology.hpp"
#include "eplb/sim/cluster/fair_shares.hpp"
#include "eplb/sim/options.hpp"

namespace eplb::sim {

/// The ways that bytes can take between two GPUs.
enum class Path : std::uint8_t {
  kNvlink,   ///< Through the switches of one NVLink domain.
  kNetwork,  ///< GPU, network card, leaf and, between domains, spine: RDMA.
  kHost,     ///< Through the memory of the hosts, and between them by the network: TCP.
};

/// Who moves the bytes: its packets decide how much of a link's peak is payload.
enum class Mover : std::uint8_t {
  kCopyEngine,
  kKernel,
};

/// A shared resource; capacity in bytes/ns, which is GB/s, of its peak.
struct ClusterResource {
  std::string name;
  double capacity = 0;
};

/// One edge of a route. An edge without a resource is never the narrowest: its neighbour is.
struct Hop {
  std::string from;
  std::string to;
  ResourceId resource;
};

/// The machine that a group runs on, as a graph: GPUs, the switch of each NVLink domain, hosts,
/// network cards, a leaf switch for the cards of each domain, and a spine. NVLink sprays its
/// packets over all links of a GPU, so a GPU has one wide port each way, and a switch is in
/// nobody's way. One rank a GPU.
class Cluster {
 public:
  Cluster(HardwareOptions hardware, Topology topology);
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;
  Cluster(Cluster&& other) noexcept;
  Cluster& operator=(Cluster&& other) noexcept;
  ~Cluster();

  /// By ResourceId, from 0.
  [[nodiscard]] std::span<const ClusterResource> resources() const { return resources_; }

  [[nodiscard]] std::int32_t rank_count() const { return topology_.rank_count(); }

  [[nodiscard]] NodeId node_of(RankId rank) const { return topology_.node_of(rank); }

  [[nodiscard]] std::int32_t vertex_count() const;
  [[nodiscard]] std::int32_t edge_count() const;

  /// The shortest route of that kind, empty if there is none. A transfer over the network is
  /// striped over the hardware's network_rails; `rail` says which of them.
  [[nodiscard]] std::vector<Hop> route(RankId from, RankId to, Path path,
                                       std::int32_t rail = 0) const;

  /// What a byte from one GPU to another takes of all that is in its way, both memories included.
  /// `from` and `to` differ, and the path exists.
  [[nodiscard]] Demand demand(RankId from, RankId to, Path path, Mover mover) const;

  /// What a byte that is copied within a GPU takes: it is read and written.
  [[nodiscard]] Demand local_demand(RankId rank) const;

  [[nodiscard]] ResourceId memory(RankId rank) const { return gpus_[rank.index()].memory; }

  [[nodiscard]] ResourceId egress(RankId rank) const { return gpus_[rank.index()].egress; }

  [[nodiscard]] ResourceId ingress(RankId rank) const { return gpus_[rank.index()].ingress; }

  /// Cards that a rank's transfers use, the first rail first.
  [[nodiscard]] std::vector<std::int32_t> nics(RankId rank) const;

  /// Directions of a card.
  [[nodiscard]] ResourceId nic_out(NodeId node, std::int32_t nic) const;
  [[nodiscard]] ResourceId nic_in(NodeId node, std::int32_t nic) const;

 private:
  struct Graph;

  struct Gpu {
    ResourceId egress;
    ResourceId ingress;
    ResourceId memory;
    std::int32_t index_in_node = 0;
  };

  ResourceId add(std::string name, double capacity);
  void add_gpus();
  void add_networks();
  void add_route(Demand& demand, const std::vector<Hop>& hops, double amount) const;

  HardwareOptions hardware_;
  Topology topology_;
  std::unique_ptr<Graph> graph_;
  std::vector<ClusterResource> resources_;
  std::vector<Gpu> gpus_;               ///< By rank.
  std::vector<ResourceId> first_nics_;  ///< By node: out and in of its first card, then the next.
};

/// Peak of a GPU's NVLink port, one direction: as stated, else what its best user reaches.
[[nodiscard]] double nvlink_peak_gb_per_s(const HardwareOptions& hardware);

/// Cards of a node: as stated, else one a GPU.
[[nodiscard]] std::int32_t nics_per_node(const HardwareOptions& hardware);

/// Peak of a card: as stated, else what its best user reaches over its rails.
[[nodiscard]] double nic_bandwidth_gb_per_s(const HardwareOptions& hardware);

}  // namespace eplb::sim
