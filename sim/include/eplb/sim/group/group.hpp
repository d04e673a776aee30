#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "eplb/sim/group/rank.hpp"

namespace eplb::sim {

/// An EP group: several ranks' cores in one process, on one event engine. Forwards are collective:
/// one begins when all ranks have come to it.
class SimGroup final : private ForwardGate, private EventHandler {
 public:
  struct Options {
    std::int32_t rank_count = 1;
    env::TransportTraits traits;
    bool one_rank_counts = false;  ///< Rank 0 accounts for all.
  };

  /// What outlives the group.
  struct World {
    EventEngine& engine;
    GroupTiming& timing;
    Carrier& carrier;
    Violations& violations;
    env::TraceSink& trace_sink;
    const PlacementPolicy& policy;
    Serving& serving;
    GroupTrace* trace = nullptr;  ///< Null: nobody looks.
  };

  /// Fault points of each rank, in order. Ranks start with the maps of `initial`.
  SimGroup(const World& world, const Options& options, const Placement& initial,
           std::span<env::FaultPoints* const> fault_points);

  /// A balancer for every rank, as it would start by itself. The first rank's error if one refuses.
  [[nodiscard]] Result<void> create_balancers(const Balancer::Settings& settings);

  /// Every slot's weights, all replicas, as a loader writes them.
  void load_weights(const Placement& placement, std::int64_t version);

  /// All ranks come to their next forward.
  void resume();

  /// The forward that all ranks have come to runs from now on, until finish_forward.
  void begin_forward();
  void finish_forward();

  /// And for so long.
  void begin_forward(std::int64_t duration_ns);

  [[nodiscard]] std::int32_t rank_count() const { return static_cast<std::int32_t>(ranks_.size()); }

  [[nodiscard]] SimRank& rank(RankId rank) { return *ranks_[rank.index()]; }

  [[nodiscard]] const SimRank& rank(RankId rank) const { return *ranks_[rank.index()]; }

  [[nodiscard]] RowStore& rows() { return rows_; }

  [[nodiscard]] const RowStore& rows() const { return rows_; }

  [[nodiscard]] const SimWire& wire() const { return wire_; }

  /// Whether a forward is under way.
  [[nodiscard]] bool in_forward() const { return in_forward_; }

 private:
  void arrive(RankId rank) override;
  void on_event(const Event& event) override;

  World world_;
  RowStore rows_;
  SimWire wire_;
  SimPost post_;
  SimPlanDesk plan_desk_;
  std::vector<std::unique_ptr<SimRank>> ranks_;
  std::int32_t arrived_ = 0;
  bool in_forward_ = false;
};

}  // namespace eplb::sim
