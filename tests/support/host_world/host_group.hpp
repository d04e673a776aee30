#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "eplb/core/balancer.hpp"
#include "eplb/group/membership.hpp"
#include "host_rank.hpp"

namespace eplb::test {

/// An EP group in one process, without a GPU: every rank is threads, its weights are bytes of this
/// process, and the ranks meet over a real board. It runs as it happens to be scheduled.
class HostGroup {
 public:
  struct Options {
    Balancer::Settings settings;
    env::TransferSide side = env::TransferSide::kSender;
    TokensOf tokens;
    KindOf kind;
    std::uint64_t seed = 1;
    RankId memory_refused{-1};  ///< This rank can reserve nothing.
  };

  /// The policy must outlive it; it is asked by several threads at once.
  HostGroup(Options options, const PlacementPolicy& policy);
  ~HostGroup();
  HostGroup(const HostGroup&) = delete;
  HostGroup& operator=(const HostGroup&) = delete;
  HostGroup(HostGroup&&) = delete;
  HostGroup& operator=(HostGroup&&) = delete;

  /// Makes all balancers, at once as processes do. The first rank's error if one refuses.
  [[nodiscard]] Result<void> start();

  /// So many forwards of all ranks; ends earlier on those that stop. False if that takes a minute.
  [[nodiscard]] bool run(std::int64_t forwards);

  /// The rank is gone as if killed, and the others are told, as a LossMonitor tells them.
  void lose(RankId rank);

  [[nodiscard]] HostRank& rank(RankId rank) { return *ranks_[rank.index()]; }

  [[nodiscard]] HostRows& rows() { return rows_; }

  [[nodiscard]] HostWire& wire() { return wire_; }

 private:
  Options options_;
  HostRows rows_;
  HostWire wire_;
  ForwardDesk desk_;
  std::unique_ptr<group::Membership> membership_;
  std::vector<std::unique_ptr<HostRank>> ranks_;
};

}  // namespace eplb::test
