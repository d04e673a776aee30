// Goal: every rank, planning alone, comes to the plan's transfers. Method: section 5.1 of the
// semantics written out twice, as a rank reads it that sends and as one that receives, with sets
// and no sharing of code with the core; random worlds.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <tuple>
#include <vector>

#include "eplb/core/layer_migration.hpp"
#include "random_worlds.hpp"
#include "seed.hpp"

namespace eplb {
namespace {

using test::RandomWorlds;
using test::replay_hint;

/// Expert, sender's slot, receiver's slot.
using Flow = std::tuple<int, int, int>;
using Flows = std::set<Flow>;

/// One layer as the text of section 5.1 sees it: rows of experts, rank after rank.
class Layer {
 public:
  Layer(const LayerPlacement& before, const LayerPlacement& after)
      : slots_per_rank_(before.slots_per_rank()),
        rank_count_(before.rank_count()),
        expert_count_(before.expert_count()) {
    for (const LogicalExpertId expert : before.occupants()) {
      old_row_.push_back(expert.value);
    }
    for (const LogicalExpertId expert : after.occupants()) {
      new_row_.push_back(expert.value);
    }
  }

  [[nodiscard]] int rank_count() const { return rank_count_; }

  /// What `rank` sends: for each expert that it is sender j of, receivers [j q, (j + 1) q), and
  /// receiver |senders| q + j if there is one.
  [[nodiscard]] Flows sent_by(int rank) const {
    Flows flows;
    for (int expert = 0; expert < expert_count_; ++expert) {
      const std::vector<int> senders = ranks_holding(old_row_, expert);
      const std::vector<int> receivers = receivers_of(expert);
      const auto me = std::find(senders.begin(), senders.end(), rank);
      if (me == senders.end() || receivers.empty()) {
        continue;
      }
      const int sender_count = static_cast<int>(senders.size());
      const int receiver_count = static_cast<int>(receivers.size());
      const int j = static_cast<int>(me - senders.begin());
      const int q = receiver_count / sender_count;
      std::vector<int> mine;
      for (int i = j * q; i < (j + 1) * q; ++i) {
        mine.push_back(i);
      }
      if (sender_count * q + j < receiver_count) {
        mine.push_back(sender_count * q + j);
      }
      for (const int i : mine) {
        flows.insert(flow(expert, rank, receivers[static_cast<std::size_t>(i)]));
      }
    }
    return flows;
  }

  /// What `rank` receives: as receiver i of an expert, from sender i div q while i < |senders| q,
  /// else from sender i - |senders| q.
  [[nodiscard]] Flows received_by(int rank) const {
    Flows flows;
    for (int expert = 0; expert < expert_count_; ++expert) {
      const std::vector<int> senders = ranks_holding(old_row_, expert);
      const std::vector<int> receivers = receivers_of(expert);
      const auto me = std::find(receivers.begin(), receivers.end(), rank);
      if (me == receivers.end()) {
        continue;
      }
      const int sender_count = static_cast<int>(senders.size());
      const int i = static_cast<int>(me - receivers.begin());
      const int q = static_cast<int>(receivers.size()) / sender_count;
      const int j = i < sender_count * q ? i / q : i - sender_count * q;
      flows.insert(flow(expert, senders[static_cast<std::size_t>(j)], rank));
    }
    return flows;
  }

 private:
  [[nodiscard]] int first_slot_of(const std::vector<int>& row, int rank, int expert) const {
    for (int slot = rank * slots_per_rank_; slot < (rank + 1) * slots_per_rank_; ++slot) {
      if (row[static_cast<std::size_t>(slot)] == expert) {
        return slot;
      }
    }
    return -1;
  }

  [[nodiscard]] std::vector<int> ranks_holding(const std::vector<int>& row, int expert) const {
    std::vector<int> ranks;
    for (int rank = 0; rank < rank_count_; ++rank) {
      if (first_slot_of(row, rank, expert) >= 0) {
        ranks.push_back(rank);
      }
    }
    return ranks;
  }

  [[nodiscard]] std::vector<int> receivers_of(int expert) const {
    std::vector<int> receivers;
    for (const int rank : ranks_holding(new_row_, expert)) {
      if (first_slot_of(old_row_, rank, expert) < 0) {
        receivers.push_back(rank);
      }
    }
    return receivers;
  }

  /// Weights leave the sender's first old slot and land in the receiver's first new one.
  [[nodiscard]] Flow flow(int expert, int sender, int receiver) const {
    return {expert, first_slot_of(old_row_, sender, expert),
            first_slot_of(new_row_, receiver, expert)};
  }

  std::vector<int> old_row_;
  std::vector<int> new_row_;
  int slots_per_rank_;
  int rank_count_;
  int expert_count_;
};

TEST_CASE("senders and receivers, each planning alone, agree with the plan") {
  RandomWorlds worlds(test::run_seed());
  INFO(replay_hint(test::run_seed()));
  for (int world = 0; world < 1000; ++world) {
    CAPTURE(world);
    const Shape shape = worlds.shape();
    const bool some_empty = worlds.between(0, 1) == 1;
    const LayerPlacement before = worlds.layer_placement(shape, some_empty);
    const LayerPlacement after = worlds.layer_placement(shape, some_empty);
    const Layer layer(before, after);
    Flows planned;
    for (const Transfer& transfer : plan_layer_migration(LayerId{0}, before, after).remote) {
      planned.emplace(transfer.expert.value, transfer.source.value, transfer.destination.value);
    }
    Flows sent;
    Flows received;
    for (int rank = 0; rank < layer.rank_count(); ++rank) {
      sent.merge(layer.sent_by(rank));
      received.merge(layer.received_by(rank));
    }
    REQUIRE(sent == planned);
    REQUIRE(received == planned);
  }
}

}  // namespace
}  // namespace eplb
