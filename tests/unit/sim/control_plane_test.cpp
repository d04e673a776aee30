// Goal: messages arrive as core's interface promises, though they are late, come twice and
// overtake each other. Method: three ranks, messages of 10 ns unless a case says otherwise; what a
// rank knows is asked before and after they have arrived.
#include "eplb/sim/group/control_plane.hpp"

#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <vector>

#include "fixed_timing.hpp"

namespace eplb::sim {
namespace {

struct World {
  EventEngine engine;
  test::FixedTiming timing;
  SimPost post{engine, timing};
  std::array<test::CountingHost, 3> hosts;
  std::vector<std::unique_ptr<SimControlPlane>> ends;

  World() {
    for (std::int32_t rank = 0; rank < 3; ++rank) {
      ends.push_back(std::make_unique<SimControlPlane>(
          post, hosts.at(static_cast<std::size_t>(rank)), RankId{rank}, 3));
      post.join(*ends.back());
    }
  }

  [[nodiscard]] int wakes() const {
    return hosts[0].wake_count + hosts[1].wake_count + hosts[2].wake_count;
  }
};

RoundKey key_of(std::int64_t rearrangement, std::int64_t round) {
  return {.rearrangement = rearrangement, .round = round};
}

Status status_of(std::int32_t rank, const RoundKey& key, std::int32_t landed) {
  return {.rank = RankId{rank}, .key = key, .landed_layers = landed};
}

const env::SumKey kWindow{.kind = env::SumKey::Kind::kWindow, .index = 4};
const env::SumKey kLog{.kind = env::SumKey::Kind::kBalancedness, .index = 4};

TEST_CASE("a status reaches its own rank at once and the others after a message's time") {
  World world;
  world.ends[1]->post(status_of(1, key_of(1, 0), 3));
  CHECK(world.ends[1]->find(RankId{1}, key_of(1, 0)) == nullptr);
  REQUIRE(world.engine.run_next());
  CHECK(world.engine.now_ns() == 0);
  REQUIRE(world.ends[1]->find(RankId{1}, key_of(1, 0)) != nullptr);
  CHECK(world.ends[2]->find(RankId{1}, key_of(1, 0)) == nullptr);
  test::run_all(world.engine);
  CHECK(world.engine.now_ns() == 10);
  for (const auto& end : world.ends) {
    const Status* status = end->find(RankId{1}, key_of(1, 0));
    REQUIRE(status != nullptr);
    CHECK(status->landed_layers == 3);
    CHECK(end->find(RankId{0}, key_of(1, 0)) == nullptr);
    CHECK(end->find(RankId{1}, key_of(1, 1)) == nullptr);
    CHECK(end->find(RankId{1}, key_of(2, 0)) == nullptr);
  }
  CHECK(world.wakes() == 3);
}

TEST_CASE("the first status of a key counts, and a repeated message changes nothing") {
  World world;
  world.timing.repeats = true;
  world.ends[0]->post(status_of(0, key_of(1, 0), 1));
  world.ends[0]->post(status_of(0, key_of(1, 0), 2));
  test::run_all(world.engine);
  for (const auto& end : world.ends) {
    CHECK(end->find(RankId{0}, key_of(1, 0))->landed_layers == 1);
  }
  CHECK(world.wakes() == 3);
}

TEST_CASE("statuses that overtake each other are told apart by their keys") {
  World world;
  world.timing.between_ranks_ns = 100;
  world.ends[0]->post(status_of(0, key_of(1, 0), 1));
  world.timing.between_ranks_ns = 10;
  world.ends[0]->post(status_of(0, key_of(1, 1), 2));
  for (int event = 0; event < 4; ++event) {
    REQUIRE(world.engine.run_next());
  }
  CHECK(world.engine.now_ns() == 10);
  CHECK(world.ends[2]->find(RankId{0}, key_of(1, 0)) == nullptr);
  CHECK(world.ends[2]->find(RankId{0}, key_of(1, 1))->landed_layers == 2);
  test::run_all(world.engine);
  CHECK(world.ends[2]->find(RankId{0}, key_of(1, 0))->landed_layers == 1);
}

TEST_CASE("a barrier's rounds and the agreement's are apart") {
  World world;
  const RoundKey barrier{.channel = RoundKey::Channel::kBarrier, .rearrangement = 1, .round = 0};
  world.ends[0]->post(status_of(0, barrier, 0));
  test::run_all(world.engine);
  CHECK(world.ends[1]->find(RankId{0}, barrier) != nullptr);
  CHECK(world.ends[1]->find(RankId{0}, key_of(1, 0)) == nullptr);
}

TEST_CASE("statuses are kept for 64 rounds of the rank's own, and then no more") {
  World world;
  for (std::int64_t round = 0; round <= 64; ++round) {
    world.ends[1]->post(status_of(1, key_of(1, round), 0));
    test::run_all(world.engine);
  }
  // Rank 1 has gone on by 64 rounds, rank 0 has posted none.
  CHECK(world.ends[1]->find(RankId{1}, key_of(1, 0)) != nullptr);
  world.ends[1]->post(status_of(1, key_of(1, 65), 0));
  test::run_all(world.engine);
  CHECK(world.ends[1]->find(RankId{1}, key_of(1, 0)) == nullptr);
  CHECK(world.ends[1]->find(RankId{1}, key_of(1, 1)) != nullptr);
  CHECK(world.ends[0]->find(RankId{1}, key_of(1, 0)) != nullptr);
}

TEST_CASE("retired layers never fall, and a newer rearrangement begins at none") {
  World world;
  CHECK(world.ends[0]->retired(RankId{2}, 1) == 0);
  world.timing.between_ranks_ns = 50;
  world.ends[2]->post_retired(1, 2);
  world.timing.between_ranks_ns = 10;
  world.ends[2]->post_retired(1, 5);
  test::run_all(world.engine);
  CHECK(world.ends[0]->retired(RankId{2}, 1) == 5);
  CHECK(world.ends[0]->retired(RankId{2}, 2) == 0);
  world.ends[2]->post_retired(2, 1);
  world.ends[2]->post_retired(1, 6);
  test::run_all(world.engine);
  CHECK(world.ends[0]->retired(RankId{2}, 2) == 1);
  CHECK(world.ends[0]->retired(RankId{1}, 2) == 0);
}

TEST_CASE("a sum is added in order of ranks, whichever starts first, so that all get its bits") {
  // 1e16 + 1 is 1e16 in doubles: any other order than 0, 1, 2 gives another sum.
  const std::array<std::vector<double>, 3> values{{{1e16, 1}, {1, 2}, {-1e16, 3}}};
  for (const std::array<std::size_t, 3>& order :
       {std::array<std::size_t, 3>{0, 1, 2}, {2, 1, 0}, {1, 2, 0}}) {
    World world;
    for (const std::size_t rank : order) {
      CHECK(world.ends[0]->try_take_sum(kWindow) == nullptr);
      world.ends[rank]->start_sum(kWindow, values.at(rank));
      test::run_all(world.engine);
    }
    for (const auto& end : world.ends) {
      const auto sum = end->try_take_sum(kWindow);
      REQUIRE(sum != nullptr);
      CHECK(*sum == std::vector<double>{0, 6});
      CHECK(end->try_take_sum(kWindow) == nullptr);
    }
  }
}

TEST_CASE("sums of several keys run at once, in any order of starts") {
  World world;
  world.ends[0]->start_sum(kWindow, std::vector{1.0});
  world.ends[0]->start_sum(kLog, std::vector{10.0});
  world.ends[1]->start_sum(kLog, std::vector{20.0});
  world.ends[1]->start_sum(kWindow, std::vector{2.0});
  world.ends[2]->start_sum(kLog, std::vector{30.0});
  test::run_all(world.engine);
  CHECK(world.ends[1]->try_take_sum(kWindow) == nullptr);
  CHECK(*world.ends[1]->try_take_sum(kLog) == std::vector<double>{60});
  world.ends[2]->start_sum(kWindow, std::vector{3.0});
  test::run_all(world.engine);
  CHECK(*world.ends[1]->try_take_sum(kWindow) == std::vector<double>{6});
}

TEST_CASE("a sum of no values comes too, as on a stage without layers") {
  World world;
  for (const auto& end : world.ends) {
    end->start_sum(kLog, {});
  }
  test::run_all(world.engine);
  const auto sum = world.ends[0]->try_take_sum(kLog);
  REQUIRE(sum != nullptr);
  CHECK(sum->empty());
}

TEST_CASE("a sum whose message comes twice is handed out once") {
  World world;
  world.timing.repeats = true;
  for (const auto& end : world.ends) {
    end->start_sum(kLog, std::vector{1.0});
  }
  REQUIRE(world.engine.run_next());
  REQUIRE(world.engine.run_next());
  REQUIRE(world.ends[2]->try_take_sum(kLog) != nullptr);
  test::run_all(world.engine);
  CHECK(world.ends[2]->try_take_sum(kLog) == nullptr);
}

TEST_CASE("the first end of the group counts, and reaches all alike") {
  World world;
  const Failure first{.cause = FailureCause::kCopyFailed, .rank = RankId{2}};
  CHECK_FALSE(world.ends[0]->group_failure().has_value());
  world.ends[2]->end_group(first);
  world.ends[0]->end_group({.cause = FailureCause::kDeadline, .rank = RankId{0}});
  test::run_all(world.engine);
  for (const auto& end : world.ends) {
    REQUIRE(end->group_failure().has_value());
    CHECK(*end->group_failure() == first);
  }
}

TEST_CASE("a lost rank ends the group, unless it has ended before") {
  World world;
  world.post.lose(RankId{1});
  world.ends[0]->end_group({.cause = FailureCause::kStatusMissing, .rank = RankId{1}});
  test::run_all(world.engine);
  CHECK(world.ends[2]->group_failure()->cause == FailureCause::kRankLost);
  CHECK(world.ends[2]->group_failure()->rank == RankId{1});
}

TEST_CASE("whatever arrives of a rank is a sign of life, a heartbeat too") {
  World world;
  CHECK(world.ends[0]->heard_ns(RankId{1}) == 0);
  world.ends[1]->post_heartbeat();
  test::run_all(world.engine);
  CHECK(world.ends[0]->heard_ns(RankId{1}) == 10);
  CHECK(world.ends[0]->heard_ns(RankId{2}) == 0);
  CHECK(world.wakes() == 0);
  world.ends[1]->post_retired(1, 1);
  test::run_all(world.engine);
  CHECK(world.ends[0]->heard_ns(RankId{1}) == 20);
}

}  // namespace
}  // namespace eplb::sim
