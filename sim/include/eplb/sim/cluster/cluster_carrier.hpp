#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "eplb/core/options.hpp"
#include "eplb/sim/cluster/cluster.hpp"
#include "eplb/sim/cluster/copy_streams.hpp"
#include "eplb/sim/cluster/flow_network.hpp"
#include "eplb/sim/group/carrier.hpp"

namespace eplb::sim {

/// Carries rows through a cluster: issued by a host thread, dealt to streams, started by a copy
/// engine or a kernel, shared max-min with all that flows there.
class ClusterCarrier final : public Carrier {
 public:
  struct Options {
    HardwareOptions hardware;
    Communicator communicator = Communicator::kSymmMem;
    NixlPath nixl_path = NixlPath::kAuto;
    std::int32_t tensors_per_expert = 1;  ///< Each tensor is a copy of its own.
    std::int32_t copy_streams = 1;
    bool batched_copies = false;
    double rate_limit_gb_per_s = 0;  ///< Of what a rank sends; 0: none.
  };

  ClusterCarrier(EventEngine& engine, Options options, const Topology& topology);

  /// Another machine from now on; nothing may be on its way.
  void set_topology(const Topology& topology);

  [[nodiscard]] const Cluster& cluster() const { return machine_->cluster; }

  [[nodiscard]] FlowNetwork& network() { return machine_->network; }

  /// Until when the rank's thread is busy with what it has been told to issue.
  [[nodiscard]] std::int64_t issuing_until_ns(RankId rank) const {
    return machine_->issued_ns[rank.index()];
  }

  void transfer(const RowCopy& copy, std::int64_t bytes, CarrierClient& client,
                std::int64_t token) override;
  void copy_locally(const RowCopy& copy, std::int64_t bytes, CarrierClient& client,
                    std::int64_t token) override;

 private:
  /// What a row between two ranks costs, and takes of the machine.
  struct Way {
    Demand demand;
    double start_us = 0;  ///< A tensor.
    double latency_us = 0;
    bool needs_engine = true;
    bool parallel = true;  ///< Whether a rank's rows go this way on several streams.
  };

  struct Machine {
    Machine(EventEngine& engine, const Options& options, const Topology& topology);

    Topology topology;
    Cluster cluster;
    FlowNetwork network;
    std::vector<std::unique_ptr<CopyStreams>> gpus;  ///< By rank; the last stream is for itself.
    std::vector<ResourceId> send_limits;             ///< By rank; none without a rate limit.
    std::vector<std::int64_t> issued_ns;             ///< By rank.
    std::vector<std::int64_t> called_ns;             ///< By rank: when its newest batch was.
    std::vector<std::size_t> next_stream;            ///< By rank.
    std::map<std::pair<RankId, RankId>, Way> ways;
  };

  [[nodiscard]] const Way& way(RankId from, RankId to);
  [[nodiscard]] Way make_way(RankId from, RankId to) const;
  [[nodiscard]] Path path(RankId from, RankId to) const;
  [[nodiscard]] std::int64_t issue(RankId rank);

  EventEngine& engine_;
  Options options_;
  std::unique_ptr<Machine> machine_;
  std::vector<std::unique_ptr<Machine>> past_;  ///< Their last events are still to come.
};

}  // namespace eplb::sim
