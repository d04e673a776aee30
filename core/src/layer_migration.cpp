#include "eplb/core/layer_migration.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "eplb/core/assert.hpp"

namespace eplb {
namespace {

/// A slot and the expert that it holds.
struct Holding {
  LogicalExpertId expert;
  SlotId slot;
};

/// Slots grouped by the expert that they hold; within an expert they keep the order they came in.
class SlotsByExpert {
 public:
  SlotsByExpert(std::span<const Holding> holdings, std::size_t expert_count)
      : begins_(expert_count + 1, 0), slots_(holdings.size()) {
    for (const Holding& holding : holdings) {
      ++begins_[holding.expert.index() + 1];
    }
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
    std::vector<std::size_t> next = begins_;
    for (const Holding& holding : holdings) {
      slots_[next[holding.expert.index()]++] = holding.slot;
    }
  }

  [[nodiscard]] std::span<const SlotId> of(std::size_t expert) const {
    return std::span(slots_).subspan(begins_[expert], begins_[expert + 1] - begins_[expert]);
  }

 private:
  std::vector<std::size_t> begins_;
  std::vector<SlotId> slots_;
};

/// Who has an expert to give and who needs it from elsewhere: at most one slot a rank and expert,
/// the first one, ranks ascending.
struct SendersAndReceivers {
  std::vector<Holding> senders;
  std::vector<Holding> receivers;
};

/// Notes in `migration` what a rank does alone, and returns what must cross between ranks.
SendersAndReceivers plan_within_ranks(const LayerPlacement& before, const LayerPlacement& after,
                                      LayerMigration& migration) {
  SendersAndReceivers across;
  // The first slot that holds, or receives, an expert on the last visited rank that does so. Ranks
  // are visited in ascending order, so an entry below a rank's first slot is of an earlier rank.
  const auto expert_count = static_cast<std::size_t>(before.expert_count());
  std::vector<SlotId> first_held(expert_count, SlotId{-1});
  std::vector<SlotId> first_received(expert_count, SlotId{-1});
  for (std::int32_t rank = 0; rank < before.rank_count(); ++rank) {
    const SlotId begin = before.first_slot(RankId{rank});
    const SlotId end = before.first_slot(RankId{rank + 1});
    for (SlotId slot = begin; slot < end; ++slot.value) {
      const LogicalExpertId expert = before.occupant(slot);
      if (expert != kNoExpert && first_held[expert.index()] < begin) {
        first_held[expert.index()] = slot;
        across.senders.push_back({.expert = expert, .slot = slot});
      }
    }
    for (SlotId slot = begin; slot < end; ++slot.value) {
      const LogicalExpertId expert = after.occupant(slot);
      if (expert == kNoExpert || expert == before.occupant(slot)) {
        continue;
      }
      const SlotId held = first_held[expert.index()];
      const SlotId received = first_received[expert.index()];
      if (held >= begin) {
        migration.local.push_back({.expert = expert, .source = held, .destination = slot});
      } else if (received >= begin) {
        migration.duplicates.push_back({.expert = expert, .source = received, .destination = slot});
      } else {
        first_received[expert.index()] = slot;
        across.receivers.push_back({.expert = expert, .slot = slot});
      }
    }
  }
  return across;
}

/// Which sender serves receiver i (eplb-semantics 5.1): each sender serves `quotient` neighbours,
/// and the receivers left over go to the first senders, one each.
std::size_t sender_of(std::size_t receiver, std::size_t sender_count, std::size_t receiver_count) {
  const std::size_t quotient = receiver_count / sender_count;
  const std::size_t even_share = sender_count * quotient;
  return receiver < even_share ? receiver / quotient : receiver - even_share;
}

/// A transfer with its source and destination rank.
struct Flight {
  std::pair<std::size_t, std::size_t> ranks;
  Transfer transfer;
};

/// Each rank's only peer in a batch, or kNoPeer; [ranks].
using Peers = std::vector<std::size_t>;

constexpr std::size_t kNoPeer = static_cast<std::size_t>(-1);

}  // namespace

LayerMigration plan_layer_migration(LayerId layer, const LayerPlacement& before,
                                    const LayerPlacement& after) {
  EPLB_ASSERT_OP(before.slot_count(), ==, after.slot_count());
  EPLB_ASSERT_OP(before.slots_per_rank(), ==, after.slots_per_rank());
  EPLB_ASSERT_OP(before.expert_count(), ==, after.expert_count());
  LayerMigration migration{.layer = layer, .remote = {}, .local = {}, .duplicates = {}};
  const SendersAndReceivers across = plan_within_ranks(before, after, migration);
  const auto expert_count = static_cast<std::size_t>(before.expert_count());
  const SlotsByExpert senders(across.senders, expert_count);
  const SlotsByExpert receivers(across.receivers, expert_count);
  migration.remote.reserve(across.receivers.size());
  for (std::size_t expert = 0; expert < expert_count; ++expert) {
    const std::span<const SlotId> from = senders.of(expert);
    const std::span<const SlotId> to = receivers.of(expert);
    for (std::size_t receiver = 0; receiver < to.size(); ++receiver) {
      migration.remote.push_back({.expert = LogicalExpertId{static_cast<std::int32_t>(expert)},
                                  .source = from[sender_of(receiver, from.size(), to.size())],
                                  .destination = to[receiver]});
    }
  }
  return migration;
}

std::int32_t busiest_commit_rows(const LayerMigration& migration, const LayerPlacement& after) {
  std::vector<std::int32_t> rows(static_cast<std::size_t>(after.rank_count()), 0);
  for (const auto* transfers : {&migration.remote, &migration.local, &migration.duplicates}) {
    for (const Transfer& transfer : *transfers) {
      ++rows[after.rank_of(transfer.destination).index()];
    }
  }
  return *std::ranges::max_element(rows);
}

std::int32_t busiest_wire_rows(const LayerMigration& migration, const LayerPlacement& after) {
  std::vector<std::int32_t> out(static_cast<std::size_t>(after.rank_count()), 0);
  std::vector<std::int32_t> in(out.size(), 0);
  for (const Transfer& transfer : migration.remote) {
    ++out[after.rank_of(transfer.source).index()];
    ++in[after.rank_of(transfer.destination).index()];
  }
  return std::max(*std::ranges::max_element(out), *std::ranges::max_element(in));
}

std::vector<TransferBatch> schedule_batches(std::span<const Transfer> transfers,
                                            std::int32_t slots_per_rank) {
  std::vector<Flight> flights;
  flights.reserve(transfers.size());
  std::size_t rank_count = 0;
  for (const Transfer& transfer : transfers) {
    const auto source = transfer.source.index() / static_cast<std::size_t>(slots_per_rank);
    const auto destination =
        transfer.destination.index() / static_cast<std::size_t>(slots_per_rank);
    EPLB_ASSERT_OP(source, !=, destination);
    flights.push_back({.ranks = {source, destination}, .transfer = transfer});
    rank_count = std::max({rank_count, source + 1, destination + 1});
  }
  std::ranges::stable_sort(flights, {}, &Flight::ranks);

  std::vector<TransferBatch> batches;
  std::vector<Peers> peers;  // One entry a batch.
  std::size_t batch = 0;
  for (std::size_t index = 0; index < flights.size(); ++index) {
    const auto [source, destination] = flights[index].ranks;
    if (index == 0 || flights[index].ranks != flights[index - 1].ranks) {
      const auto fits = [source = source, destination = destination](const Peers& peer) {
        return peer[source] == destination ||
               (peer[source] == kNoPeer && peer[destination] == kNoPeer);
      };
      batch = static_cast<std::size_t>(std::ranges::find_if(peers, fits) - peers.begin());
      if (batch == batches.size()) {
        batches.emplace_back();
        peers.emplace_back(rank_count, kNoPeer);
      }
      peers[batch][source] = destination;
      peers[batch][destination] = source;
    }
    batches[batch].push_back(flights[index].transfer);
  }
  return batches;
}

}  // namespace eplb
