// Goal: whoever starts a transfer, and however ranks learn of each other's rows, every slot holds
// its expert in every forward. Method: two rearrangements in a row that change every slot, for each
// side of a transport with each handshake; all slots are looked at before every forward.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "function_policy.hpp"
#include "print_vector.hpp"
#include "served_group.hpp"

namespace eplb {
namespace {

constexpr Shape kShape{
    .layer_count = 3, .expert_count = 8, .redundant_slot_count = 4, .rank_count = 4};

void check_two_rearrangements(env::TransferSide side, const EplbOptions& options) {
  CAPTURE(static_cast<int>(side));
  CAPTURE(static_cast<int>(options.handshake));
  CAPTURE(options.use_async);
  const auto policy = test::rotating_policy();
  test::ServedGroup served(
      {.settings = test::settings_of(kShape, options), .traits = {.side = side}}, policy);
  REQUIRE(served.rearrange_until(2, 200));
  served.serve_until(served.steps() + 2);
  CHECK(served.faults() == std::vector<std::string>{});
  CHECK(served.stopped_ranks().empty());
  const Placement expected = test::rotated(test::rotated(Placement::initial(kShape)));
  for (std::int32_t rank = 0; rank < kShape.rank_count; ++rank) {
    CHECK(served.balancer(rank).placement() == expected);
    for (std::int32_t layer = 0; layer < kShape.layer_count; ++layer) {
      CHECK(served.balancer(rank).epoch(LayerId{layer}) == 2);
      CHECK(served.group().rank(RankId{rank}).maps().epoch(LayerId{layer}) == 2);
    }
    for (const Rearrangement& rearrangement : served.balancer(rank).rearrangements()) {
      CHECK(rearrangement.committed_layers == 3);
      CHECK_FALSE(rearrangement.abort);
    }
  }
}

EplbOptions options_of(Handshake handshake) {
  EplbOptions options;
  options.window_size = 4;
  options.step_interval = 40;
  options.handshake = handshake;
  return options;
}

TEST_CASE("two rearrangements in a row leave the right weights in every slot") {
  for (const env::TransferSide side :
       {env::TransferSide::kSender, env::TransferSide::kReceiver, env::TransferSide::kBoth}) {
    for (const Handshake handshake : {Handshake::kStatuses, Handshake::kBarriers}) {
      EplbOptions options = options_of(handshake);
      check_two_rearrangements(side, options);
      options.use_async = false;
      check_two_rearrangements(side, options);
      options.landing_rows = kShape.slots_per_rank();
      check_two_rearrangements(side, options);
    }
  }
}

TEST_CASE("in sync mode a whole rearrangement runs within one step, held") {
  const auto policy = test::rotating_policy();
  EplbOptions options = options_of(Handshake::kStatuses);
  options.use_async = false;
  test::ServedGroup served({.settings = test::settings_of(kShape, options)}, policy);
  REQUIRE(served.rearrange_until(1, 40));
  const Rearrangement& first = served.balancer(0).rearrangements()[0];
  CHECK(first.start_step == 9);
  CHECK(first.end_step == 9);
  CHECK(served.group().rank(RankId{0}).hold_ns() >= first.end_ns - first.start_ns);
}

}  // namespace
}  // namespace eplb
