#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "eplb/core/balancer.hpp"
#include "eplb/group/recorded_calls.hpp"

namespace eplb::test {

/// What a case asks of a world.
struct WorldOptions {
  Balancer::Settings settings;
  env::TransferSide side = env::TransferSide::kSender;
  /// Asked by all ranks, perhaps at once, so it must not change.
  std::shared_ptr<const PlacementPolicy> policy;
  /// Tokens of a rank in a forward, [layers, experts]; likewise asked at once.
  std::function<LoadMatrix(RankId rank, std::int64_t forward)> tokens;
  std::function<StepKind(RankId rank, std::int64_t forward)> kind;
  RankId memory_refused{-1};  ///< This rank can reserve nothing; -1: all can.
};

/// An EP group that serves: real balancers, one a rank, in some environment. The conformance cases
/// know nothing else of it, so whatever passes them is one.
///
/// A world that joins has to offer:
/// - an environment for each rank, wrapped in a group::Recording with which it makes the balancer;
/// - the weights of the initial placement in all slots before the first forward;
/// - forwards that are collective, count their tokens by the maps that they look up, and check that
///   every slot they use holds the expert that they expect there;
/// - an engine that calls on_step after each, again while it holds, and stops when it is told so;
/// - somebody who calls progress;
/// - the few faults below, since none of them can be asked for from outside.
///
/// Between two runs no forward is under way, and all ranks have ended the same steps.
class World {
 public:
  World() = default;
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  World(World&&) = delete;
  World& operator=(World&&) = delete;
  virtual ~World() = default;

  [[nodiscard]] virtual bool can_transfer(env::TransferSide side) const = 0;

  /// Makes all balancers. The first rank's error if one refuses.
  [[nodiscard]] virtual Result<void> start() = 0;

  /// So many forwards of all ranks, each with its step; ends earlier on ranks that stop. False if
  /// it does not end in a time that no sound world needs.
  [[nodiscard]] virtual bool run(std::int64_t forwards) = 0;

  /// Looks at a rank's balancer while neither of its entries runs.
  virtual void with_balancer(RankId rank, const std::function<void(Balancer&)>& look) = 0;

  /// Looks at what a rank's balancer has asked and was answered so far.
  virtual void with_calls(RankId rank,
                          const std::function<void(const group::RecordedCalls&)>& look) = 0;

  /// Whether every byte of a slot is that of the expert, once all commits so far have run.
  [[nodiscard]] virtual bool holds(LayerId layer, SlotId slot, LogicalExpertId expert) = 0;

  /// What a rank's next forward will look up; none where there will be none.
  [[nodiscard]] virtual std::optional<LayerMap> map(RankId rank, LayerId layer) = 0;

  /// Why a rank's balancer has stopped it; none while it serves.
  [[nodiscard]] virtual std::optional<Failure> stop_reason(RankId rank) = 0;

  /// Wrong content that forwards saw, and whatever else the world itself found broken.
  [[nodiscard]] virtual std::vector<std::string> faults() = 0;

  // On every rank, between the same two steps.
  virtual void drain() = 0;
  virtual void resume() = 0;
  [[nodiscard]] virtual Result<void> release_memory() = 0;
  /// And loads the weights of what the balancers take for their placement.
  [[nodiscard]] virtual Result<void> reserve_memory() = 0;

  // What goes wrong from now on.
  /// Rows that leave this rank do not arrive; none: all do.
  virtual void break_transfers(std::optional<RankId> from) = 0;
  /// Copies within the rank fail, as a commit needs them.
  virtual void break_commits(RankId rank) = 0;
  /// Its policy refuses, or no longer.
  virtual void break_plans(RankId rank, bool broken) = 0;
  /// The rank is gone as if killed.
  virtual void lose(RankId rank) = 0;
};

/// The world that this program tests.
[[nodiscard]] std::unique_ptr<World> make_world(const WorldOptions& options);

}  // namespace eplb::test
