// Goal: a host's board is one memory for all its processes, refuses who would lay it out otherwise,
// and is nothing but memory: no file is there to be left. Method: mappings of one board in one
// process, and a look at what stands in /dev/shm.
#include "eplb/group/board.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "board_writer.hpp"

namespace eplb::group {
namespace {

BoardOptions two_ranks() {
  return {.name = "test",
          .rank_count = 2,
          .sums = {.window_values_max = 10, .balancedness_values_max = 4},
          .local_ranks = {RankId{0}, RankId{1}}};
}

std::size_t shared_file_count() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    count += entry.exists() ? 1U : 0U;
  }
  return count;
}

std::string refusal_of(const Result<std::unique_ptr<Board>>& board) {
  return board ? "none" : board.error().message;
}

TEST_CASE("board: what one mapping writes the other reads, and no file is made") {
  const std::size_t files_before = shared_file_count();
  const auto owned = Board::create(two_ranks()).value();
  const auto opened = Board::open(two_ranks(), ::getpid(), owned->descriptor()).value();
  CHECK(shared_file_count() == files_before);
  CHECK(opened->bytes() == owned->bytes());
  CHECK(!opened->failure());
  const Failure failure{.cause = FailureCause::kMemory, .rank = RankId{1}};
  owned->end(failure);
  CHECK(opened->failure() == failure);
  CHECK(!owned->has_left(RankId{1}));
  opened->leave(RankId{1});
  CHECK(owned->has_left(RankId{1}));
  CHECK(!owned->has_left(RankId{0}));
}

TEST_CASE("board: its owner may go, and it lives as long as anyone has it") {
  auto owned = Board::create(two_ranks()).value();
  const auto opened = Board::open(two_ranks(), ::getpid(), owned->descriptor()).value();
  owned->end({.cause = FailureCause::kMemory, .rank = RankId{1}});
  owned.reset();
  CHECK(opened->failure()->rank == RankId{1});
}

TEST_CASE("board: another layout is refused, and so is a board that is not there") {
  const auto owned = Board::create(two_ranks()).value();
  const std::string pid = std::to_string(::getpid());
  BoardOptions options = two_ranks();
  options.sums.window_values_max = 1'000;
  CHECK(refusal_of(Board::open(options, ::getpid(), owned->descriptor())) ==
        "the board of process " + pid + " is of another size than this process expects");
  options = two_ranks();
  options.decides = false;
  CHECK(refusal_of(Board::open(options, ::getpid(), owned->descriptor())) ==
        "the board of process " + pid + " was made with other options");
  const auto missing = Board::open(two_ranks(), ::getpid(), 99'999);
  REQUIRE(!missing);
  CHECK(missing.error().code == ErrorCode::kPeerFailed);
}

TEST_CASE("board: impossible options are refused") {
  BoardOptions options = two_ranks();
  options.rank_count = 0;
  CHECK(refusal_of(Board::create(options)) == "a board is for 1 to 16777214 ranks, not 0");
  options = two_ranks();
  options.sums.balancedness_values_max = -1;
  CHECK(refusal_of(Board::create(options)) == "a board's sums have 0 to 2^32 values");
  options = two_ranks();
  options.local_ranks = {RankId{2}};
  CHECK(refusal_of(Board::create(options)) == "a board's local ranks are some of the group's");
}

TEST_CASE("board: sums of a shape are as large as a balancer asks for") {
  const Shape shape{
      .layer_count = 40, .expert_count = 384, .redundant_slot_count = 32, .rank_count = 32};
  CHECK(SumSizes::of(shape, 4) ==
        SumSizes{.window_values_max = 61'440, .balancedness_values_max = 1'280});
}

TEST_CASE("board: only the deciding one ends the group, others propose") {
  BoardOptions options = two_ranks();
  options.decides = false;
  const auto board = Board::create(options).value();
  const Failure first{.cause = FailureCause::kMemory, .rank = RankId{1}};
  board->end(first);
  board->end({.cause = FailureCause::kCopyFailed, .rank = RankId{0}});
  CHECK(!board->failure());
  CHECK(board->proposal() == first);
  const Failure decided{.cause = FailureCause::kRankLost, .rank = RankId{0}};
  CHECK(board->decide(decided));
  CHECK(!board->decide(first));
  CHECK(board->failure() == decided);
}

TEST_CASE("board: a reader whom the writer has lapped goes on with what is left") {
  const auto board = Board::create(two_ranks()).value();
  BoardWriter writer(*board, RankId{1});
  StatusLog log(*board, RankId{1});
  CHECK(!log.try_take());
  constexpr std::int64_t kPosted = 3 * Board::kStatusesKept;
  for (std::int64_t round = 0; round < kPosted; ++round) {
    writer.post({.rank = RankId{1}, .key = {.rearrangement = 1, .round = round}});
  }
  std::int64_t expected = kPosted - Board::kStatusesKept;
  while (const std::optional<Status> status = log.try_take()) {
    CHECK(status->key.round == expected);
    CHECK(status->rank == RankId{1});
    ++expected;
  }
  CHECK(expected == kPosted);
}

}  // namespace
}  // namespace eplb::group
