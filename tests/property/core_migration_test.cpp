// Goal: whatever the two placements, a plan's transfers turn one into the other and its batches
// never give a rank two peers. Method: random worlds with and without empty slots; rows are moved
// as ranks would move them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "core_support/migration_faults.hpp"
#include "eplb/core/layer_migration.hpp"
#include "random_worlds.hpp"
#include "seed.hpp"
#include "transfers.hpp"

namespace eplb {
namespace {

using test::batches_fault;
using test::migration_fault;
using test::RandomWorlds;
using test::replay_hint;

constexpr int kWorldCount = 400;

/// Calls `check` with two placements of one random shape, many times.
template <typename Check>
void for_random_pairs(Check check) {
  RandomWorlds worlds(test::run_seed());
  INFO(replay_hint(test::run_seed()));
  for (int world = 0; world < kWorldCount; ++world) {
    CAPTURE(world);
    const Shape shape = worlds.shape();
    const bool some_empty = worlds.between(0, 1) == 1;
    const Placement before = worlds.placement(shape, some_empty);
    const Placement after = worlds.placement(shape, some_empty);
    check(before, after);
  }
}

TEST_CASE("rows moved by a plan hold the new placement") {
  for_random_pairs([](const Placement& before, const Placement& after) {
    for (const LayerMigration& layer : test::migrations(before, after)) {
      REQUIRE(migration_fault(layer, before.layer(layer.layer), after.layer(layer.layer)) == "");
    }
  });
}

TEST_CASE("a plan has exactly the layers that change") {
  for_random_pairs([](const Placement& before, const Placement& after) {
    std::vector<LayerId> changed;
    for (std::int32_t layer = 0; layer < before.shape().layer_count; ++layer) {
      if (before.layer(LayerId{layer}) != after.layer(LayerId{layer})) {
        changed.push_back(LayerId{layer});
      }
    }
    std::vector<LayerId> planned;
    for (const LayerMigration& layer : test::migrations(before, after)) {
      planned.push_back(layer.layer);
    }
    REQUIRE(planned == changed);
    REQUIRE(test::migrations(before, before).empty());
  });
}

TEST_CASE("slots whose expert is new on its rank are received or copied from a received one") {
  for_random_pairs([](const Placement& before, const Placement& after) {
    std::size_t received_or_copied = 0;
    for (const LayerMigration& layer : test::migrations(before, after)) {
      received_or_copied += layer.remote.size() + layer.duplicates.size();
    }
    REQUIRE(static_cast<std::int64_t>(received_or_copied) == moved_expert_count(before, after));
  });
}

TEST_CASE("the senders of an expert differ by at most one transfer") {
  for_random_pairs([](const Placement& before, const Placement& after) {
    for (const LayerMigration& layer : test::migrations(before, after)) {
      const LayerPlacement& old_layer = before.layer(layer.layer);
      std::map<LogicalExpertId, std::map<SlotId, int>> served;
      for (const Transfer& transfer : layer.remote) {
        ++served[transfer.expert][transfer.source];
      }
      for (auto& [expert, transfers_of_slot] : served) {
        for (std::int32_t rank = 0; rank < old_layer.rank_count(); ++rank) {
          const auto slots = old_layer.on_rank(RankId{rank});
          const auto first = std::ranges::find(slots, expert);
          if (first != slots.end()) {
            const auto offset = static_cast<std::int32_t>(first - slots.begin());
            transfers_of_slot.try_emplace(SlotId{old_layer.first_slot(RankId{rank}).value + offset},
                                          0);
          }
        }
        const auto [least, most] = std::ranges::minmax_element(
            transfers_of_slot, {}, [](const auto& entry) { return entry.second; });
        REQUIRE(most->second - least->second <= 1);
      }
    }
  });
}

TEST_CASE("batches give a rank one peer, keep pairs together and fly every transfer once") {
  for_random_pairs([](const Placement& before, const Placement& after) {
    for (const LayerMigration& layer : test::migrations(before, after)) {
      const auto batches = schedule_batches(layer.remote, before.shape().slots_per_rank());
      REQUIRE(batches_fault(batches, layer.remote, before.layer(layer.layer)) == "");
      REQUIRE(batches == schedule_batches(layer.remote, before.shape().slots_per_rank()));
    }
  });
}

TEST_CASE("first fit needs at most the peers of both ends, less one, of the busiest pair") {
  for_random_pairs([](const Placement& before, const Placement& after) {
    for (const LayerMigration& layer : test::migrations(before, after)) {
      const LayerPlacement& old_layer = before.layer(layer.layer);
      std::map<RankId, std::set<RankId>> peers;
      for (const Transfer& transfer : layer.remote) {
        const RankId source = old_layer.rank_of(transfer.source);
        const RankId destination = old_layer.rank_of(transfer.destination);
        peers[source].insert(destination);
        peers[destination].insert(source);
      }
      std::size_t least = 0;
      std::size_t most = 0;
      for (const auto& [rank, peers_of_rank] : peers) {
        least = std::max(least, peers_of_rank.size());
        for (const RankId peer : peers_of_rank) {
          most = std::max(most, peers_of_rank.size() + peers[peer].size() - 1);
        }
      }
      const std::size_t batch_count =
          schedule_batches(layer.remote, before.shape().slots_per_rank()).size();
      REQUIRE(batch_count >= least);
      REQUIRE(batch_count <= most);
    }
  });
}

}  // namespace
}  // namespace eplb
