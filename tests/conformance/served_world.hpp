#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "rank_history.hpp"
#include "world.hpp"

namespace eplb::test {

/// Three layers of eight experts, in three slots on each of four ranks; rows of all lengths.
inline constexpr Shape kServedShape{
    .layer_count = 3, .expert_count = 8, .redundant_slot_count = 4, .rank_count = 4};

/// A rearrangement every eight steps, the first after two; every step is logged.
[[nodiscard]] EplbOptions served_options();

/// Another placement for each load: replicas anywhere, on one rank twice too; some slots stay.
[[nodiscard]] std::shared_ptr<const PlacementPolicy> scattering_policy();

/// Every slot's occupant goes on to the next rank.
[[nodiscard]] std::shared_ptr<const PlacementPolicy> turning_policy();

/// A few tokens for each expert, others in each forward of each rank.
[[nodiscard]] LoadMatrix some_tokens(RankId rank, std::int64_t forward);

/// Real steps with some tokens, scattered at each rearrangement.
[[nodiscard]] WorldOptions served(EplbOptions options);

/// A world that has started, and what all cases look at in it.
class ServedWorld {
 public:
  explicit ServedWorld(WorldOptions options);

  [[nodiscard]] World& operator*() { return *world_; }

  [[nodiscard]] World* operator->() { return world_.get(); }

  [[nodiscard]] const Shape& shape() const { return options_.settings.shape; }

  [[nodiscard]] const WorldOptions& options() const { return options_; }

  /// One step at a time until rank 0 has ended so many rearrangements in all.
  void rearrange_until(std::size_t count);

  /// Until no rank has anything under way.
  void run_until_drained();

  /// Until every rank but `gone` has stopped; gives their common reason.
  [[nodiscard]] Failure run_until_stopped(RankId gone = RankId{-1});

  [[nodiscard]] Placement placement(RankId rank);
  [[nodiscard]] std::vector<Rearrangement> rearrangements(RankId rank);
  [[nodiscard]] RankHistory history(RankId rank);
  [[nodiscard]] std::vector<RankHistory> histories();

  /// All ranks have one placement, one epoch and one map a layer; each slot holds its expert, byte
  /// for byte; and no forward has seen anything else.
  void check_content();

  /// What the recorded calls of all ranks say: they commit alike, windows and counts are right.
  void check_histories();

 private:
  WorldOptions options_;
  std::unique_ptr<World> world_;
};

}  // namespace eplb::test
