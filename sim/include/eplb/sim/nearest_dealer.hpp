#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "eplb/core/cost.hpp"
#include "eplb/core/layer_map.hpp"
#include "eplb/core/topology.hpp"
#include "eplb/sim/random_stream.hpp"
#include "eplb/sim/workload.hpp"

namespace eplb::sim {

/// Deals picks where ranks take the nearest replicas: each NVLink domain's rows go by a map of its
/// own. The rows that picked an expert are a random subset of all rows, so its picks split over
/// domains as a hypergeometric draw, and then over what each domain's map has (ReplicaDealer).
/// Where all domains take the same replicas nothing is drawn for domains, and rows between them are
/// counted in expectation.
class NearestDealer {
 public:
  struct Options {
    Topology topology;
    std::int32_t slots_per_rank = 1;
    ReplicaDealer::Options dealer;
  };

  explicit NearestDealer(const Options& options);

  /// Rows that each rank brings to the layers to come.
  void set_rows(std::span<const std::int64_t> rows_by_rank);

  /// Fills `tokens_per_slot`, [slots], from `counts`, [experts], by the domains' `maps`.
  void deal(std::span<const std::int64_t> counts, std::span<const LayerMap* const> maps,
            std::span<std::int64_t> tokens_per_slot);

  /// Rows of the layer dealt last on a rank's way to other domains; those that a domain sends are
  /// its ranks' in proportion to their rows.
  [[nodiscard]] WireRows network_rows(RankId rank) const;

  /// All rows of that layer that change their domain.
  [[nodiscard]] double network_row_count() const;

  /// Ranks of a rank's domain, itself included.
  [[nodiscard]] std::int32_t domain_size(RankId rank) const {
    return sizes_[topology_.domain_of(rank).index()];
  }

 private:
  void deal_alike(std::int64_t count, std::span<const std::int32_t> slots,
                  std::span<std::int64_t> tokens_per_slot);
  void deal_apart(std::int64_t count, LogicalExpertId expert, std::span<const LayerMap* const> maps,
                  std::span<std::int64_t> tokens_per_slot);
  /// Picks of each domain, of `count` in all, into picks_.
  void split_over_domains(std::int64_t count);
  void note(DomainId from, std::int32_t slot, double rows);

  Topology topology_;
  std::int32_t slots_per_rank_;
  Noise noise_;
  RandomStream random_;
  ReplicaDealer whole_;
  std::vector<ReplicaDealer> dealers_;     ///< By domain.
  std::vector<std::int32_t> sizes_;        ///< By domain: ranks.
  std::vector<std::int64_t> rank_rows_;    ///< By rank,
  std::vector<std::int64_t> domain_rows_;  ///< and by domain.
  std::int64_t rows_ = 0;                  ///< Of all.
  std::vector<std::int64_t> picks_;        ///< By domain, of the expert at hand.
  std::vector<std::int64_t> dealt_;        ///< By replica, of the expert at hand.
  std::vector<double> arriving_;           ///< By rank, from other domains.
  std::vector<double> sent_;               ///< By domain, to others.
};

}  // namespace eplb::sim
