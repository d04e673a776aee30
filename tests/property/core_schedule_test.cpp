// Goal: whatever the two placements and the pool, executing a schedule's copies in any order that
// it allows brings every slot its expert, and no two rows in flight overlap. Method: random worlds;
// rows as arrays of experts, moved in a shuffled order; who waits for whom against a recount.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "eplb/core/migration_schedule.hpp"
#include "random_worlds.hpp"
#include "seed.hpp"

namespace eplb {
namespace {

using test::RandomWorlds;
using test::replay_hint;

constexpr int kWorldCount = 300;

/// A row in flight that holds no expert yet.
constexpr std::int32_t kEmpty = -2;

struct World {
  Placement before;
  Placement after;
  ScheduleOptions options;
};

World random_world(RandomWorlds& worlds) {
  const Shape shape = worlds.shape();
  const bool some_empty = worlds.between(0, 1) == 1;
  const std::int32_t slots = shape.slots_per_rank();
  const std::int32_t rows = worlds.between(slots, 3 * slots);
  std::vector<std::int64_t> row_bytes(static_cast<std::size_t>(shape.layer_count));
  std::ranges::generate(row_bytes, [&] { return worlds.between(1, 100); });
  return {.before = worlds.placement(shape, some_empty),
          .after = worlds.placement(shape, some_empty),
          .options = {.landing_rows = rows,
                      .row_bytes = row_bytes,
                      .batching = worlds.between(0, 3) > 0,
                      .one_row_batches = worlds.between(0, 3) == 0,
                      .every_layer = worlds.between(0, 3) == 0,
                      .first_landing_row = worlds.between(0, rows - 1)}};
}

template <typename Check>
void for_random_worlds(Check check) {
  RandomWorlds worlds(test::run_seed());
  INFO(replay_hint(test::run_seed()));
  for (int index = 0; index < kWorldCount; ++index) {
    CAPTURE(index);
    const World world = random_world(worlds);
    check(world, schedule_migration(world.before, world.after, world.options), worlds);
  }
}

/// What every row of the group holds: an expert, nothing (-1), or kEmpty.
class Rows {
 public:
  explicit Rows(const World& world)
      : slots_(world.before.shape().slots_per_rank()), landing_rows_(world.options.landing_rows) {
    for (const LayerPlacement& layer : world.before.layers()) {
      auto& row = weights_.emplace_back();
      for (const LogicalExpertId expert : layer.occupants()) {
        row.push_back(expert.value);
      }
    }
    landing_.assign(static_cast<std::size_t>(world.before.shape().rank_count) *
                        static_cast<std::size_t>(landing_rows_),
                    kEmpty);
  }

  [[nodiscard]] std::int32_t& at(const RowAddress& address) {
    const bool landing = address.region == kLandingRegion;
    const std::int32_t width = landing ? landing_rows_ : slots_;
    REQUIRE(address.row >= 0);
    REQUIRE(address.row < width);
    const std::size_t index = address.rank.index() * static_cast<std::size_t>(width) +
                              static_cast<std::size_t>(address.row);
    return landing ? landing_.at(index)
                   : weights_.at(static_cast<std::size_t>(address.region.value)).at(index);
  }

  /// Runs copies of one batch: in a shuffled order, each from what was there before the batch.
  void run(std::vector<RowCopy> copies, RandomWorlds& worlds) {
    for (std::size_t last = copies.size(); last > 1; --last) {
      std::swap(copies[last - 1],
                copies[static_cast<std::size_t>(worlds.between(0, static_cast<int>(last) - 1))]);
    }
    for (const RowCopy& copy : copies) {
      at(copy.destination) = at(copy.source);
    }
  }

  [[nodiscard]] const std::vector<std::int32_t>& weights(LayerId layer) const {
    return weights_[layer.index()];
  }

 private:
  std::int32_t slots_;
  std::int32_t landing_rows_;
  std::vector<std::vector<std::int32_t>> weights_;  ///< [layers][slots].
  std::vector<std::int32_t> landing_;               ///< [ranks, landing rows].
};

TEST_CASE("a schedule's copies, in any order within a batch, bring every slot its expert") {
  for_random_worlds(
      [](const World& world, const MigrationSchedule& schedule, RandomWorlds& worlds) {
        Rows rows(world);
        const std::int32_t ranks = world.before.shape().rank_count;
        for (const LayerSchedule& layer : schedule.layers) {
          std::vector<RowCopy> local;
          for (std::int32_t rank = 0; rank < ranks; ++rank) {
            append_local_copies(layer, RankId{rank}, local);
          }
          rows.run(local, worlds);
          for (const TransferBatch& batch : layer.batches) {
            std::vector<RowCopy> copies;
            for (std::int32_t rank = 0; rank < ranks; ++rank) {
              append_copies(layer, batch, RankId{rank}, TransferEnd::kSource, copies);
            }
            rows.run(copies, worlds);
          }
          std::vector<RowCopy> commit;
          for (std::int32_t rank = 0; rank < ranks; ++rank) {
            append_commit_copies(layer, RankId{rank}, commit);
          }
          rows.run(commit, worlds);
        }
        for (std::int32_t index = 0; index < world.after.shape().layer_count; ++index) {
          const LayerId layer{index};
          for (std::int32_t slot = 0; slot < world.after.shape().slot_count(); ++slot) {
            const LogicalExpertId expert = world.after.layer(layer).occupant(SlotId{slot});
            if (expert != kNoExpert) {  // What an empty slot holds is nobody's business.
              REQUIRE(rows.weights(layer)[static_cast<std::size_t>(slot)] == expert.value);
            }
          }
        }
      });
}

TEST_CASE("senders, receivers and pairs start the same copies, each by the right end") {
  for_random_worlds([](const World& world, const MigrationSchedule& schedule, RandomWorlds&) {
    for (const LayerSchedule& layer : schedule.layers) {
      for (const TransferBatch& batch : layer.batches) {
        std::size_t sent = 0;
        std::size_t received = 0;
        std::size_t paired = 0;
        for (std::int32_t rank = 0; rank < world.before.shape().rank_count; ++rank) {
          std::vector<RowCopy> copies;
          append_copies(layer, batch, RankId{rank}, TransferEnd::kSource, copies);
          for (const RowCopy& copy : copies) {
            REQUIRE(copy.source.rank == RankId{rank});
            REQUIRE(copy.source.rank != copy.destination.rank);
          }
          sent += copies.size();
          copies.clear();
          append_copies(layer, batch, RankId{rank}, TransferEnd::kDestination, copies);
          for (const RowCopy& copy : copies) {
            REQUIRE(copy.destination.rank == RankId{rank});
          }
          received += copies.size();
          copies.clear();
          append_copies(layer, batch, RankId{rank}, TransferEnd::kEither, copies);
          paired += copies.size();
        }
        REQUIRE(sent == batch.size());
        REQUIRE(received == batch.size());
        REQUIRE(paired == 2 * batch.size());
      }
    }
  });
}

/// Landing rows of each layer, (rank, row).
std::vector<std::set<std::pair<std::int32_t, std::int32_t>>> rows_by_layer(
    const MigrationSchedule& schedule) {
  std::vector<std::set<std::pair<std::int32_t, std::int32_t>>> rows;
  for (const LayerSchedule& layer : schedule.layers) {
    auto& taken = rows.emplace_back();
    for (std::int32_t slot = 0; slot < layer.target.slot_count(); ++slot) {
      if (layer.landing_row[static_cast<std::size_t>(slot)] >= 0) {
        const bool fresh = taken
                               .emplace(layer.target.rank_of(SlotId{slot}).value,
                                        layer.landing_row[static_cast<std::size_t>(slot)])
                               .second;
        REQUIRE(fresh);
      }
    }
  }
  return rows;
}

TEST_CASE("a layer waits for exactly the leading layers with one of whose rows its own collide") {
  for_random_worlds([](const World& world, const MigrationSchedule& schedule, RandomWorlds&) {
    const auto rows = rows_by_layer(schedule);
    std::int32_t waited = 0;
    for (std::size_t layer = 0; layer < rows.size(); ++layer) {
      for (const auto& [rank, row] : rows[layer]) {
        REQUIRE(row >= 0);
        REQUIRE(row < world.options.landing_rows);
      }
      // Earlier layers wait for no more, and what they wait for is gone by then.
      std::int32_t needed = waited;
      for (std::size_t earlier = 0; earlier < layer; ++earlier) {
        const bool collides = std::ranges::any_of(
            rows[layer], [&](const auto& row) { return rows[earlier].contains(row); });
        if (collides) {
          needed = std::max(needed, static_cast<std::int32_t>(earlier) + 1);
        }
      }
      waited = needed;
      REQUIRE(schedule.layers[layer].retired_layers_needed == needed);
    }
  });
}

TEST_CASE("a schedule counts the bytes of the rank that copies most at a commit") {
  for_random_worlds([](const World& world, const MigrationSchedule& schedule, RandomWorlds&) {
    for (const LayerSchedule& layer : schedule.layers) {
      std::size_t most = 0;
      for (std::int32_t rank = 0; rank < world.before.shape().rank_count; ++rank) {
        std::vector<RowCopy> copies;
        append_commit_copies(layer, RankId{rank}, copies);
        most = std::max(most, copies.size());
      }
      REQUIRE(layer.commit_bytes == static_cast<std::int64_t>(most) *
                                        world.options.row_bytes[layer.migration.layer.index()]);
    }
  });
}

TEST_CASE("equal inputs give equal digests and different targets different ones") {
  std::map<std::uint64_t, Placement> seen;
  for_random_worlds([&](const World& world, const MigrationSchedule& schedule, RandomWorlds&) {
    REQUIRE(schedule_migration(world.before, world.after, world.options).digest == schedule.digest);
    if (!schedule.layers.empty()) {
      const auto [place, fresh] = seen.emplace(schedule.digest, world.after);
      REQUIRE((fresh || place->second == world.after));
    }
  });
  CHECK(seen.size() > 100);
}

}  // namespace
}  // namespace eplb
