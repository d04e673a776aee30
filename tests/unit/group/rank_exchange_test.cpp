// Goal: every rank gets every rank's bytes, several times over, however ranks are spread over
// processes; memory that a host's processes share is one. Method: bytes that say whose they are and
// of which round, of other lengths each time; a word written by one process and read by all.
#include "eplb/group/rank_exchange.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <string>

#include "eplb/group/shared_bytes.hpp"
#include "joined_ranks.hpp"

namespace eplb::test {
namespace {

using Bytes = std::vector<std::byte>;

constexpr group::SumSizes kSizes{.window_values_max = 1, .balancedness_values_max = 1};
constexpr std::int32_t kRanks = 4;

Bytes bytes_of(std::size_t rank, std::size_t round) {
  Bytes bytes(rank * 7 + round, std::byte{static_cast<unsigned char>(16 * rank + round)});
  return bytes;
}

TEST_CASE("ranks exchange bytes, whether threads or processes") {
  for (const Joining joining : {Joining::kThreads, Joining::kProcesses, Joining::kHosts}) {
    JoinedRanks joined = join_ranks(joining, kRanks, kSizes);
    std::vector<std::unique_ptr<group::RankExchange>> exchanges;
    std::vector<std::size_t> exchange_of(static_cast<std::size_t>(kRanks));
    for (const auto& membership : joined.memberships) {
      const auto& own = membership->members()[membership->own_index()].ranks;
      for (const RankId rank : own) {
        exchange_of[rank.index()] = exchanges.size();
      }
      exchanges.push_back(std::make_unique<group::RankExchange>(*membership, own, kPatienceMs));
    }
    std::atomic<std::int32_t> wrong = 0;
    run_beside(static_cast<std::size_t>(kRanks), [&](std::size_t rank) {
      for (std::size_t round = 0; round < 5; ++round) {
        const RankId id{static_cast<std::int32_t>(rank)};
        const auto all = exchanges[exchange_of[rank]]->gather(id, bytes_of(rank, round));
        for (std::size_t other = 0; other < static_cast<std::size_t>(kRanks); ++other) {
          wrong += other < all.size() && all[other] == bytes_of(other, round) ? 0 : 1;
        }
      }
    });
    CHECK(wrong == 0);
  }
}

TEST_CASE("a rank that does not come leaves the others with nothing, in time") {
  JoinedRanks joined = join_ranks(Joining::kThreads, kRanks, kSizes);
  group::Membership& membership = *joined.memberships.front();
  group::RankExchange exchange(membership, membership.members().front().ranks, 50);
  CHECK(exchange.gather(RankId{0}, bytes_of(0, 0)).empty());
}

TEST_CASE("processes of a host share memory, and hosts do not") {
  JoinedRanks joined = join_ranks(Joining::kProcesses, kRanks, kSizes);
  std::vector<std::unique_ptr<group::SharedBytes>> shared(joined.memberships.size());
  run_beside(shared.size(), [&](std::size_t process) {
    auto mapped = group::SharedBytes::map(*joined.memberships[process], 8192, kPatienceMs);
    if (mapped) {
      shared[process] = std::move(*mapped);
    }
  });
  for (const auto& bytes : shared) {
    REQUIRE(bytes != nullptr);
    REQUIRE(bytes->bytes().size() == 8192);
    CHECK(bytes->bytes()[8191] == std::byte{0});
  }
  shared.back()->bytes()[8191] = std::byte{42};
  CHECK(shared.front()->bytes()[8191] == std::byte{42});

  JoinedRanks hosts = join_ranks(Joining::kHosts, kRanks, kSizes);
  const auto refused = group::SharedBytes::map(*hosts.memberships.front(), 4096, kPatienceMs);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace eplb::test
