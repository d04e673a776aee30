// Goal: a group that is drained has nothing under way, may give its memory back and take it anew,
// and then serves and rearranges as before. Method: a drain in the middle of a rearrangement.
#include <doctest/doctest.h>

#include <cstdint>

#include "served_world.hpp"

namespace eplb {
namespace {

using test::ServedWorld;

TEST_CASE("a drain ends what runs, and nothing is triggered or counted until it is over") {
  ServedWorld served(test::served(test::served_options()));
  REQUIRE(served->run(2));
  served->drain();
  served.run_until_drained();
  served.check_content();
  REQUIRE(served.rearrangements(RankId{0}).size() == 1);
  const std::size_t passes = served.history(RankId{2}).passes.size();
  REQUIRE(served->run(20));
  CHECK(served.rearrangements(RankId{0}).size() == 1);
  CHECK(served.history(RankId{2}).passes.size() == passes);
  served->resume();
  served.rearrange_until(3);
  served.check_content();
}

TEST_CASE("memory is given back and taken anew only when drained") {
  ServedWorld served(test::served(test::served_options()));
  served.rearrange_until(1);
  REQUIRE(served->run(1));
  served->drain();
  served.run_until_drained();
  REQUIRE(served->release_memory().has_value());
  CHECK_FALSE(served->holds(LayerId{0}, SlotId{0},
                            served.placement(RankId{0}).layer(LayerId{0}).occupant(SlotId{0})));
  REQUIRE(served->reserve_memory().has_value());
  served.check_content();
  served->resume();
  served.rearrange_until(4);
  served.check_content();
  served.check_histories();
}

TEST_CASE("memory stays where a rearrangement runs") {
  ServedWorld served(test::served(test::served_options()));
  REQUIRE(served->run(2));
  const Result<void> released = served->release_memory();
  REQUIRE_FALSE(released.has_value());
  CHECK(released.error().code == ErrorCode::kAborted);
  served.rearrange_until(2);
  served.check_content();
}

}  // namespace
}  // namespace eplb
