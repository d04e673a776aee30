// Goal: what travels between ranks arrives as it was. Method: there and back, with the extremes of
// each field.
#include "status_words.hpp"

#include <doctest/doctest.h>

#include <limits>

namespace eplb::group {
namespace {

constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();

TEST_CASE("words: a status comes back whole") {
  const Status status{
      .rank = RankId{71},
      .key = {.channel = RoundKey::Channel::kBarrier, .rearrangement = kFar, .round = -64},
      .state = MigrationState::kStopped,
      .digest = std::numeric_limits<std::uint64_t>::max(),
      .landed_layers = std::numeric_limits<std::int32_t>::max(),
      .retired_layers = std::numeric_limits<std::int32_t>::max() - 1,
      .drained = true,
      .failure = {.cause = FailureCause::kDrained,
                  .rank = RankId{kPackedIdMax},
                  .state = MigrationState::kAborting,
                  .layer = LayerId{kPackedIdMax}}};
  CHECK(unpack(status.rank, pack(status)) == status);
  CHECK(unpack(RankId{3}, pack(Status{.rank = RankId{3}, .key = {}})) ==
        Status{.rank = RankId{3}, .key = {}});
}

TEST_CASE("words: a failure is one word that is not 0, and no failure stays none") {
  const Failure lost{.cause = FailureCause::kRankLost, .rank = RankId{0}};
  CHECK(pack(lost) != 0);
  CHECK(unpack_failure(pack(lost)) == lost);
  CHECK(unpack_failure(pack(Failure{})) == Failure{});
}

TEST_CASE("words: retired layers grow with the rearrangement and with themselves") {
  const std::int64_t late = (std::int64_t{1} << 40) - 1;
  CHECK(retired_rearrangement(pack_retired(late, 61)) == late);
  CHECK(retired_layers(pack_retired(late, 61)) == 61);
  CHECK(pack_retired(2, 0) > pack_retired(1, 61));
  CHECK(pack_retired(2, 4) > pack_retired(2, 3));
}

}  // namespace
}  // namespace eplb::group
