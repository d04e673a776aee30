#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "eplb/core/balancer.hpp"
#include "eplb/core/topology.hpp"
#include "eplb/sim/group/group.hpp"

namespace eplb::sim {

/// An EP group that may become another one of another size, with the same balancers. All of it is
/// done between two steps, while all ranks wait.
class ElasticGroup {
 public:
  /// The fault points of a rank; they outlive the group.
  using FaultPointsOf = std::function<env::FaultPoints&(RankId)>;

  ElasticGroup(const SimGroup::World& world, const SimGroup::Options& options,
               const Placement& initial, FaultPointsOf fault_points_of);

  [[nodiscard]] SimGroup& operator*() { return *group_; }

  [[nodiscard]] const SimGroup& operator*() const { return *group_; }

  [[nodiscard]] SimGroup* operator->() { return group_.get(); }

  [[nodiscard]] const SimGroup* operator->() const { return group_.get(); }

  /// The balancer of rank 0; null if none was made.
  [[nodiscard]] Balancer* balancer() { return group_->rank(RankId{0}).balancer_or_null(); }

  /// For every rank, Balancer's call of the same name.
  void drain();
  void resume_triggers();
  [[nodiscard]] Result<void> vacate(const std::vector<RankId>& staying, const Topology& topology);

  /// Whether no rearrangement runs on any rank.
  [[nodiscard]] bool idle();
  [[nodiscard]] bool drained();

  /// New ranks by `mapping` of the old ones; those that nobody is mapped to come new. Weights stay
  /// where they are.
  [[nodiscard]] Result<void> rescale(const RankMapping& mapping, const Topology& topology);

  /// Longest time that a rank has held, over all sizes so far.
  [[nodiscard]] std::int64_t held_ns() const;

  /// Time in which rows were on their way between ranks, over all sizes so far.
  [[nodiscard]] std::int64_t wire_ns() const { return past_wire_ns_ + group_->wire().busy_ns(); }

 private:
  [[nodiscard]] std::unique_ptr<SimGroup> make_group(const Placement& initial);
  void keep_weights(const SimGroup& before, const RankMapping& mapping, const Shape& shape);

  SimGroup::World world_;
  SimGroup::Options options_;
  FaultPointsOf fault_points_of_;
  std::unique_ptr<SimGroup> group_;
  std::vector<std::unique_ptr<SimGroup>> past_;  ///< Their last events are still to come.
  std::int64_t past_held_ns_ = 0;
  std::int64_t past_wire_ns_ = 0;
};

}  // namespace eplb::sim
