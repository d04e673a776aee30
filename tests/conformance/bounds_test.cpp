// Goal: the bounds of a rearrangement hold in every world: landing rows, layers in flight, bytes of
// a step's commits. Method: a policy that moves every slot of every layer to the next rank; which
// layers were published in which steps, and which rows were written.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "print_vector.hpp"
#include "served_world.hpp"

namespace eplb {
namespace {

using test::ServedWorld;

constexpr std::int64_t kSlotsPerRank = test::kServedShape.slots_per_rank();

/// Every rearrangement moves all slots of three layers.
test::WorldOptions turning(EplbOptions options) {
  test::WorldOptions world = test::served(std::move(options));
  world.policy = test::turning_policy();
  return world;
}

/// Layers that were committed in each step that committed any.
std::vector<std::int64_t> layers_by_step(ServedWorld& served) {
  std::map<std::int64_t, std::int64_t> layers;
  for (const test::PublishedMap& published : served.history(RankId{0}).published) {
    ++layers[published.step];
  }
  std::vector<std::int64_t> counts;
  counts.reserve(layers.size());
  for (const auto& [step, count] : layers) {
    counts.push_back(count);
  }
  return counts;
}

/// The highest landing row that a rank has had written, and how many rows it has reserved.
std::pair<std::int32_t, std::int32_t> landing_rows_of(ServedWorld& served, RankId rank) {
  std::int32_t highest = -1;
  std::int32_t reserved = 0;
  const auto note = [&](const std::vector<RowCopy>& copies) {
    for (const RowCopy& copy : copies) {
      if (copy.destination.region == kLandingRegion) {
        highest = std::max(highest, copy.destination.row);
      }
    }
  };
  served->with_calls(rank, [&](const group::RecordedCalls& calls) {
    for (const group::RecordedCall& recorded : calls) {
      if (const auto* start = std::get_if<group::Made<group::call::Start>>(&recorded)) {
        note(start->call.copies);
      } else if (const auto* copy = std::get_if<group::Made<group::call::Copy>>(&recorded)) {
        note(copy->call.copies);
      } else if (const auto* made = std::get_if<group::Made<group::call::Reserve>>(&recorded)) {
        reserved = made->call.layout.landing_rows;
      }
    }
  });
  return {highest, reserved};
}

TEST_CASE("a pool of one layer's slots is enough, and takes one layer at a time") {
  EplbOptions options = test::served_options();
  options.landing_rows = static_cast<std::int32_t>(kSlotsPerRank);
  ServedWorld served(turning(options));
  served.rearrange_until(3);
  served.check_content();
  served.check_histories();
  CHECK(layers_by_step(served) == std::vector<std::int64_t>(9, 1));
  for (std::int32_t rank = 0; rank < served.shape().rank_count; ++rank) {
    CHECK(landing_rows_of(served, RankId{rank}) == std::pair(2, 3));
  }
}

TEST_CASE("with room for all layers a held rearrangement commits them in one step") {
  EplbOptions options = test::served_options();
  options.use_async = false;
  options.landing_rows = static_cast<std::int32_t>(3 * kSlotsPerRank);
  ServedWorld served(turning(options));
  served.rearrange_until(3);
  served.check_content();
  CHECK(layers_by_step(served) == std::vector<std::int64_t>(3, 3));
  for (std::int32_t rank = 0; rank < served.shape().rank_count; ++rank) {
    CHECK(landing_rows_of(served, RankId{rank}) == std::pair(8, 9));
  }
}

TEST_CASE("one layer in flight commits alone, whatever room there is") {
  EplbOptions options = test::served_options();
  options.landing_rows = static_cast<std::int32_t>(3 * kSlotsPerRank);
  options.layers_in_flight = 1;
  ServedWorld served(turning(options));
  served.rearrange_until(3);
  served.check_content();
  CHECK(layers_by_step(served) == std::vector<std::int64_t>(9, 1));
}

TEST_CASE("a step's commits stay within their bytes, one layer at least") {
  EplbOptions options = test::served_options();
  options.landing_rows = static_cast<std::int32_t>(3 * kSlotsPerRank);
  SUBCASE("less than any layer has") {
    options.max_commit_bytes_per_step = 1;
  }
  SUBCASE("less than any two have") {
    options.max_commit_bytes_per_step = 3 * (1501 + 777) - 1;
  }
  ServedWorld served(turning(options));
  served.rearrange_until(3);
  served.check_content();
  CHECK(layers_by_step(served) == std::vector<std::int64_t>(9, 1));
}

}  // namespace
}  // namespace eplb
