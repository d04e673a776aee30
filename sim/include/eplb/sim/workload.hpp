#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "eplb/core/layer_map.hpp"
#include "eplb/core/load.hpp"
#include "eplb/core/rank_load.hpp"
#include "eplb/sim/options.hpp"
#include "eplb/sim/random_stream.hpp"
#include "eplb/sim/routing.hpp"

namespace eplb::sim {

/// What each forward brings: how many tokens of the whole group pick each expert.
///
/// NOTE [integer multinomial]: counts are a chain of conditional binomials, so they sum exactly to
/// tokens x top-k. Each binomial is exact below 16 expected and a rounded normal above, so means
/// and variances are right and only far tails differ from the true multinomial.
class Workload {
 public:
  Workload(const ModelOptions& model, const WorkloadOptions& options, std::int64_t tokens_per_step,
           std::uint64_t seed);

  /// Counts of `step`, [layers, experts]; each row sums to tokens x top-k and no count exceeds the
  /// tokens. Steps are asked for in order; valid until the next call.
  [[nodiscard]] const LoadMatrix& counts_at(std::int64_t step);

  /// From the next step on: the group has another size, or prompts come and go.
  void set_tokens_per_step(std::int64_t tokens_per_step);

  [[nodiscard]] std::int64_t tokens_per_step() const { return tokens_; }

  /// The next draw of the stream: equal for two runs that drew alike.
  [[nodiscard]] std::uint64_t unseed() { return random_.bits(); }

 private:
  void draw_layer(Eigen::Index layer);
  void round_layer(Eigen::Index layer);

  Noise noise_;
  std::int32_t top_k_;
  std::int64_t tokens_;
  std::int64_t picks_;  ///< tokens x top-k.
  RoutingModel routing_;
  RandomStream random_;
  std::int64_t routing_version_ = 0;
  bool rounded_ = false;  ///< Expected counts are those of `tokens_`.
  RealLoadMatrix shares_;
  RealLoadMatrix conditional_;  ///< Share of an expert among itself and those after it.
  LoadMatrix counts_;
};

/// Deals an expert's picks to its replicas, as the replica choice would: the rows that picked it
/// are a random subset of all rows, and each row's replica is fixed by the choice. Shares are the
/// map's; a map without any is split evenly. The exact choice is not the dealer's (ExactSplit).
class ReplicaDealer {
 public:
  struct Options {
    ReplicaChoice choice = ReplicaChoice::kHash;
    std::int32_t rows_per_rank = 1;
    std::int32_t rank_count = 1;
    Noise noise = Noise::kMultinomial;
    std::uint64_t seed = 1;
  };

  explicit ReplicaDealer(const Options& options);

  /// Rows of all ranks, where a step has others than rows_per_rank each. How the choice splits them
  /// stays that of rows_per_rank, a difference of about 1 / rows.
  void set_row_count(std::int64_t rows);

  /// Adds up one layer: `counts`, [experts], to `tokens_per_slot`, [slots], through `map`.
  void deal(std::span<const std::int64_t> counts, const LayerMap& map,
            std::span<std::int64_t> tokens_per_slot);

  /// Splits `count` picks of an expert over replicas that are taken alike, [replicas].
  void deal_evenly(std::int64_t count, std::span<std::int64_t> tokens_per_replica);

 private:
  void deal_by_shares(std::int64_t count, std::span<const std::uint16_t> thresholds,
                      std::span<std::int64_t> tokens_per_replica);

  /// Rows of all ranks that choose each replica, [replica_count], counted once.
  std::span<const std::int64_t> rows_of(std::size_t replica_count);

  Options options_;
  ReplicaShares shares_;
  std::int64_t rows_;
  RandomStream random_;
  std::vector<std::vector<std::int64_t>> rows_by_count_;
  std::vector<std::int64_t> shared_out_;  ///< Of the expert at hand, by replica: rows,
  std::vector<std::int64_t> dealt_;       ///< and picks.
};

}  // namespace eplb::sim
