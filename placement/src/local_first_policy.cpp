#include "local_first_policy.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "descending_order.hpp"
#include "layerwise.hpp"
#include "replication.hpp"
#include "serving_layer.hpp"

namespace eplb::placement {
namespace {

/// One layer's ranks as they fill up with copies.
class NodeFilling {
 public:
  explicit NodeFilling(const PolicyProblem& problem)
      : problem_(problem),
        experts_(static_cast<std::size_t>(problem.shape.rank_count)),
        rank_load_(experts_.size(), 0) {}

  void add(LogicalExpertId expert, double load) {
    std::vector<std::int32_t> copies(static_cast<std::size_t>(problem_.topology.node_count()), 0);
    std::vector<double> node_load(copies.size(), 0);
    for (std::size_t rank = 0; rank < experts_.size(); ++rank) {
      copies[node_of(rank)] +=
          static_cast<std::int32_t>(std::ranges::count(experts_[rank], expert));
      node_load[node_of(rank)] += rank_load_[rank];
    }
    std::size_t best = experts_.size();
    std::tuple<std::int32_t, double, bool, double> least;
    for (std::size_t rank = 0; rank < experts_.size(); ++rank) {
      if (std::ssize(experts_[rank]) == problem_.shape.slots_per_rank()) {
        continue;
      }
      const bool held = std::ranges::find(experts_[rank], expert) != experts_[rank].end();
      const std::tuple badness(copies[node_of(rank)], node_load[node_of(rank)], held,
                               rank_load_[rank]);
      if (best == experts_.size() || badness < least) {
        best = rank;
        least = badness;
      }
    }
    experts_[best].push_back(expert);
    rank_load_[best] += load;
  }

  [[nodiscard]] std::vector<LogicalExpertId> occupants() const {
    std::vector<LogicalExpertId> occupants;
    for (const std::vector<LogicalExpertId>& rank : experts_) {
      occupants.insert(occupants.end(), rank.begin(), rank.end());
    }
    return occupants;
  }

 private:
  [[nodiscard]] std::size_t node_of(std::size_t rank) const {
    return problem_.topology.node_of(RankId{static_cast<std::int32_t>(rank)}).index();
  }

  const PolicyProblem& problem_;
  std::vector<std::vector<LogicalExpertId>> experts_;  ///< [ranks], as they came.
  std::vector<double> rank_load_;
};

std::vector<LogicalExpertId> fill(const PolicyProblem& problem, std::span<const double> load) {
  const auto slot_count = static_cast<std::size_t>(problem.shape.slot_count());
  const std::vector<std::int32_t> expert_of_copy = give_copies(load, slot_count);
  const std::vector<double> load_of_copy = load_of_copies(load, std::span(expert_of_copy));
  NodeFilling filling(problem);
  for (const std::int32_t copy : descending_order(std::span<const double>(load_of_copy))) {
    const auto index = static_cast<std::size_t>(copy);
    filling.add(LogicalExpertId{expert_of_copy[index]}, load_of_copy[index]);
  }
  return filling.occupants();
}

}  // namespace

Result<Placement> LocalFirstPolicy::place(const PolicyProblem& problem) const {
  return place_layerwise(problem, [&](LayerId layer, std::span<const double> load) {
    return with_slots_kept(problem, layer, fill(problem, load));
  });
}

}  // namespace eplb::placement
