#pragma once

#include <cstdint>
#include <vector>

#include "eplb/core/topology.hpp"
#include "eplb/sim/group/group_timing.hpp"
#include "eplb/sim/options.hpp"

namespace eplb::sim {

/// Times by the figures of a machine. A rank sends one copy after another and receives one after
/// another, each as long as its bytes and its start need; nothing else is in their way.
class HardwareTiming final : public GroupTiming {
 public:
  struct Options {
    HardwareOptions hardware;
    Communicator communicator = Communicator::kSymmMem;
    std::int32_t tensors_per_expert = 1;  ///< Each tensor is a copy of its own.
  };

  HardwareTiming(Options options, Topology topology);

  /// The group has another size from now on.
  void set_topology(Topology topology);

  [[nodiscard]] std::int64_t message_ns(RankId from, RankId to) override;
  [[nodiscard]] Flight transfer(const RowCopy& copy, std::int64_t bytes,
                                std::int64_t now_ns) override;
  [[nodiscard]] Flight local_copy(const RowCopy& copy, std::int64_t bytes,
                                  std::int64_t now_ns) override;
  [[nodiscard]] std::int64_t publish_ns(RankId rank) override;
  [[nodiscard]] std::int64_t read_back_ns(RankId rank) override;
  [[nodiscard]] std::int64_t plan_ns(RankId rank, std::int32_t layer_count) override;

  [[nodiscard]] std::int64_t host_ns(RankId /*rank*/) override { return 0; }

  [[nodiscard]] std::int64_t poll_ns(RankId /*rank*/) override { return 0; }

 private:
  [[nodiscard]] double transfer_ns(const RowCopy& copy, std::int64_t bytes) const;

  Options options_;
  Topology topology_;
  std::vector<std::int64_t> egress_free_ns_;   ///< By rank.
  std::vector<std::int64_t> ingress_free_ns_;  ///< By rank.
  std::vector<std::int64_t> local_free_ns_;    ///< By rank.
};

}  // namespace eplb::sim
