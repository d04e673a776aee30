#include "migration_faults.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

namespace eplb::test {
namespace {

using RankPair = std::pair<RankId, RankId>;

RankPair ranks_of(const Transfer& transfer, const LayerPlacement& placement) {
  return {placement.rank_of(transfer.source), placement.rank_of(transfer.destination)};
}

bool holds(std::span<const LogicalExpertId> slots, LogicalExpertId expert) {
  return std::ranges::find(slots, expert) != slots.end();
}

/// Rows as they lie after the ranks have run the plan: everything reads the old rows, except that
/// duplicates read what landed.
std::vector<LogicalExpertId> run(const LayerMigration& migration, const LayerPlacement& before) {
  const std::span<const LogicalExpertId> old_rows = before.occupants();
  std::vector<LogicalExpertId> rows(old_rows.begin(), old_rows.end());
  for (const auto* transfers : {&migration.remote, &migration.local}) {
    for (const Transfer& transfer : *transfers) {
      rows[transfer.destination.index()] = old_rows[transfer.source.index()];
    }
  }
  for (const Transfer& transfer : migration.duplicates) {
    rows[transfer.destination.index()] = rows[transfer.source.index()];
  }
  return rows;
}

std::string remote_fault(const Transfer& transfer, const LayerPlacement& before) {
  const auto [sender, receiver] = ranks_of(transfer, before);
  if (sender == receiver) {
    return "a remote transfer stays in its rank";
  }
  if (holds(before.on_rank(receiver), transfer.expert)) {
    return "a rank receives an expert that it held";
  }
  const auto sender_slots = before.on_rank(sender);
  const auto first = std::ranges::find(sender_slots, transfer.expert) - sender_slots.begin();
  if (transfer.source.value != before.first_slot(sender).value + first) {
    return "a sender does not read its first slot of the expert";
  }
  return "";
}

std::string local_fault(const Transfer& transfer, const LayerPlacement& before) {
  const auto [sender, receiver] = ranks_of(transfer, before);
  if (sender != receiver) {
    return "a local move crosses ranks";
  }
  const auto slots = before.on_rank(receiver);
  const auto first = std::ranges::find(slots, transfer.expert) - slots.begin();
  if (transfer.source.value != before.first_slot(receiver).value + first) {
    return "a local move does not read the first slot of the expert";
  }
  return "";
}

std::string duplicate_fault(const Transfer& transfer, const LayerMigration& migration,
                            const LayerPlacement& before) {
  const auto [sender, receiver] = ranks_of(transfer, before);
  if (sender != receiver) {
    return "a duplicate crosses ranks";
  }
  const bool landed = std::ranges::any_of(migration.remote, [&](const Transfer& remote) {
    return remote.expert == transfer.expert && remote.destination == transfer.source;
  });
  return landed ? "" : "a duplicate reads a slot in which its expert did not land";
}

bool by_expert_then_destination(const Transfer& left, const Transfer& right) {
  return std::pair(left.expert, left.destination) < std::pair(right.expert, right.destination);
}

bool by_destination(const Transfer& left, const Transfer& right) {
  return left.destination < right.destination;
}

std::string order_fault(const LayerMigration& migration) {
  if (!std::ranges::is_sorted(migration.remote, by_expert_then_destination)) {
    return "remote transfers are not by expert, then receiver";
  }
  if (!std::ranges::is_sorted(migration.local, by_destination) ||
      !std::ranges::is_sorted(migration.duplicates, by_destination)) {
    return "moves within a rank are not by destination";
  }
  return "";
}

/// Each destination is written once, and only where the occupant changes to the transfer's expert;
/// each rank receives an expert at most once.
std::string destination_fault(const LayerMigration& migration, const LayerPlacement& before,
                              const LayerPlacement& after) {
  std::set<SlotId> written;
  std::set<std::pair<RankId, LogicalExpertId>> received;
  for (const auto* transfers : {&migration.remote, &migration.local, &migration.duplicates}) {
    for (const Transfer& transfer : *transfers) {
      if (!written.insert(transfer.destination).second) {
        return "a slot is written twice";
      }
      if (after.occupant(transfer.destination) != transfer.expert) {
        return "a slot is written with an expert that it shall not hold";
      }
      if (before.occupant(transfer.destination) == transfer.expert) {
        return "a slot is written that does not change";
      }
    }
  }
  for (const Transfer& transfer : migration.remote) {
    if (!received.insert({after.rank_of(transfer.destination), transfer.expert}).second) {
      return "a rank receives an expert twice";
    }
  }
  return "";
}

}  // namespace

std::string migration_fault(const LayerMigration& migration, const LayerPlacement& before,
                            const LayerPlacement& after) {
  std::string fault = order_fault(migration);
  if (fault.empty()) {
    fault = destination_fault(migration, before, after);
  }
  for (const Transfer& transfer : migration.remote) {
    fault = fault.empty() ? remote_fault(transfer, before) : fault;
  }
  for (const Transfer& transfer : migration.local) {
    fault = fault.empty() ? local_fault(transfer, before) : fault;
  }
  for (const Transfer& transfer : migration.duplicates) {
    fault = fault.empty() ? duplicate_fault(transfer, migration, before) : fault;
  }
  if (!fault.empty()) {
    return fault;
  }
  const std::vector<LogicalExpertId> rows = run(migration, before);
  for (std::size_t slot = 0; slot < rows.size(); ++slot) {
    if (after.occupants()[slot] != kNoExpert && after.occupants()[slot] != rows[slot]) {
      return "slot " + std::to_string(slot) + " ends up with the wrong expert";
    }
  }
  return "";
}

std::string batches_fault(const std::vector<TransferBatch>& batches,
                          const std::vector<Transfer>& transfers, const LayerPlacement& placement) {
  std::map<RankPair, std::vector<Transfer>> wanted;
  for (const Transfer& transfer : transfers) {
    wanted[ranks_of(transfer, placement)].push_back(transfer);
  }
  std::size_t pair_count = 0;
  for (const TransferBatch& batch : batches) {
    std::map<RankId, std::set<RankId>> peers;
    std::map<RankPair, std::vector<Transfer>> flown;
    for (const Transfer& transfer : batch) {
      const RankPair pair = ranks_of(transfer, placement);
      peers[pair.first].insert(pair.second);
      peers[pair.second].insert(pair.first);
      flown[pair].push_back(transfer);
    }
    if (batch.empty()) {
      return "a batch is empty";
    }
    for (const auto& [rank, peers_of_rank] : peers) {
      if (peers_of_rank.size() > 1) {
        return "rank " + std::to_string(rank.value) + " has two peers in a batch";
      }
    }
    for (const auto& [pair, flow] : flown) {
      if (wanted[pair] != flow) {
        return "a pair's transfers are not together, in order and complete";
      }
    }
    pair_count += flown.size();
  }
  return pair_count == wanted.size() ? "" : "a pair flies in no batch or in two";
}

}  // namespace eplb::test
