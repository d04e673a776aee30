#include "eplb/core/migration_plan.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "eplb/core/assert.hpp"
#include "eplb/core/digest.hpp"

namespace eplb {
namespace {

/// The first slot of a rank that holds the expert.
std::optional<SlotId> first_slot_of(const LayerPlacement& placement, RankId rank,
                                    LogicalExpertId expert) {
  const auto local = placement.on_rank(rank);
  const auto found = std::ranges::find(local, expert);
  if (found == local.end()) {
    return std::nullopt;
  }
  return SlotId{placement.first_slot(rank).value +
                static_cast<std::int32_t>(found - local.begin())};
}

/// Slots of one expert, one a rank, ascending.
using SlotPerRank = std::vector<SlotId>;

/// Which sender serves receiver i (eplb-semantics 5.1): each sender serves `quotient` neighbours,
/// and the receivers left over go to the first senders, one each.
std::size_t sender_of(std::size_t receiver, std::size_t sender_count, std::size_t receiver_count) {
  const std::size_t quotient = receiver_count / sender_count;
  const std::size_t even_share = sender_count * quotient;
  return receiver < even_share ? receiver / quotient : receiver - even_share;
}

}  // namespace

std::int64_t MigrationPlan::remote_transfer_count() const {
  std::int64_t count = 0;
  for (const LayerMigration& layer : layers) {
    count += static_cast<std::int64_t>(layer.remote.size());
  }
  return count;
}

LayerMigration plan_layer_migration(LayerId layer, const LayerPlacement& before,
                                    const LayerPlacement& after) {
  EPLB_ASSERT_OP(before.slot_count(), ==, after.slot_count());
  EPLB_ASSERT_OP(before.slots_per_rank(), ==, after.slots_per_rank());
  LayerMigration migration{.layer = layer, .remote = {}, .local = {}, .duplicates = {}};
  const auto expert_count = static_cast<std::size_t>(before.expert_count());
  std::vector<SlotPerRank> senders(expert_count);
  std::vector<SlotPerRank> receivers(expert_count);

  for (std::int32_t slot = 0; slot < before.slot_count(); ++slot) {
    const LogicalExpertId expert = before.occupant(SlotId{slot});
    if (expert != kNoExpert &&
        first_slot_of(before, before.rank_of(SlotId{slot}), expert) == SlotId{slot}) {
      senders[expert.index()].push_back(SlotId{slot});
    }
  }
  for (std::int32_t index = 0; index < after.slot_count(); ++index) {
    const SlotId slot{index};
    const LogicalExpertId expert = after.occupant(slot);
    if (expert == kNoExpert || expert == before.occupant(slot)) {
      continue;
    }
    const RankId rank = after.rank_of(slot);
    if (const auto held = first_slot_of(before, rank, expert)) {
      migration.local.push_back({.expert = expert, .source = *held, .destination = slot});
      continue;
    }
    const SlotId primary = *first_slot_of(after, rank, expert);
    if (primary == slot) {
      receivers[expert.index()].push_back(slot);
    } else {
      migration.duplicates.push_back({.expert = expert, .source = primary, .destination = slot});
    }
  }
  for (std::size_t expert = 0; expert < expert_count; ++expert) {
    const SlotPerRank& from = senders[expert];
    const SlotPerRank& to = receivers[expert];
    for (std::size_t receiver = 0; receiver < to.size(); ++receiver) {
      migration.remote.push_back({.expert = LogicalExpertId{static_cast<std::int32_t>(expert)},
                                  .source = from[sender_of(receiver, from.size(), to.size())],
                                  .destination = to[receiver]});
    }
  }
  return migration;
}

MigrationPlan plan_migration(const Placement& before, const Placement& after) {
  EPLB_ASSERT(before.shape() == after.shape());
  MigrationPlan plan;
  for (std::int32_t index = 0; index < before.shape().layer_count; ++index) {
    const LayerId layer{index};
    if (before.layer(layer) != after.layer(layer)) {
      plan.layers.push_back(plan_layer_migration(layer, before.layer(layer), after.layer(layer)));
    }
  }
  return plan;
}

std::uint64_t digest(const MigrationPlan& plan) {
  Digest digest;
  for (const LayerMigration& layer : plan.layers) {
    digest.add(layer.layer.value);
    for (const auto* transfers : {&layer.remote, &layer.local, &layer.duplicates}) {
      digest.add(static_cast<std::int64_t>(transfers->size()));
      for (const Transfer& transfer : *transfers) {
        digest.add(transfer.expert.value);
        digest.add(transfer.source.value);
        digest.add(transfer.destination.value);
      }
    }
  }
  return digest.value();
}

std::vector<TransferBatch> schedule_batches(std::span<const Transfer> transfers,
                                            std::int32_t slots_per_rank) {
  using RankPair = std::pair<std::int32_t, std::int32_t>;
  std::map<RankPair, TransferBatch> flows;
  for (const Transfer& transfer : transfers) {
    const RankPair pair{transfer.source.value / slots_per_rank,
                        transfer.destination.value / slots_per_rank};
    EPLB_ASSERT_OP(pair.first, !=, pair.second);
    flows[pair].push_back(transfer);
  }

  std::vector<TransferBatch> batches;
  std::vector<std::map<std::int32_t, std::int32_t>> peers;  // One map a batch: rank -> its peer.
  for (const auto& [pair, flow] : flows) {
    const auto [source, destination] = pair;
    const auto fits = [source = source, destination = destination](const auto& peer_of) {
      const auto of_source = peer_of.find(source);
      const auto of_destination = peer_of.find(destination);
      const bool both_free = of_source == peer_of.end() && of_destination == peer_of.end();
      return both_free || (of_source != peer_of.end() && of_source->second == destination);
    };
    const auto batch = static_cast<std::size_t>(std::ranges::find_if(peers, fits) - peers.begin());
    if (batch == batches.size()) {
      batches.emplace_back();
      peers.emplace_back();
    }
    peers[batch][source] = destination;
    peers[batch][destination] = source;
    batches[batch].insert(batches[batch].end(), flow.begin(), flow.end());
  }
  return batches;
}

}  // namespace eplb
