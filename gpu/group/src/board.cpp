#include "eplb/group/board.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <memory>
#include <new>
#include <utility>

#include "board_layout.hpp"
#include "eplb/core/digest.hpp"
#include "status_words.hpp"

namespace eplb::group {
namespace {

using Kind = env::SumKey::Kind;

constexpr std::array kKinds{Kind::kWindow, Kind::kBalancedness};
static_assert(kKinds.size() == kSumKindCount);

/// What errors call its memory.
constexpr std::string_view kNoun = "board";

template <typename Record>
constexpr auto kBytesOf = static_cast<std::int64_t>(sizeof(Record));

std::int64_t rounded_up(std::int64_t bytes) {
  constexpr auto kLine = static_cast<std::int64_t>(kCacheLineBytes);
  return (bytes + kLine - 1) / kLine * kLine;
}

Result<void> validate(const BoardOptions& options) {
  constexpr std::int64_t kValuesMax = std::int64_t{1} << 32U;
  const auto is_count = [](std::int64_t values) { return values >= 0 && values <= kValuesMax; };
  if (options.rank_count < 1 || options.rank_count > kPackedIdMax) {
    return fail(ErrorCode::kInvalidArgument, "a board is for 1 to " + std::to_string(kPackedIdMax) +
                                                 " ranks, not " +
                                                 std::to_string(options.rank_count));
  }
  if (!is_count(options.sums.window_values_max) ||
      !is_count(options.sums.balancedness_values_max)) {
    return fail(ErrorCode::kInvalidArgument, "a board's sums have 0 to 2^32 values");
  }
  const bool known = std::ranges::all_of(options.local_ranks, [&](RankId rank) {
    return rank.value >= 0 && rank.value < options.rank_count;
  });
  if (options.local_ranks.empty() || !known) {
    return fail(ErrorCode::kInvalidArgument, "a board's local ranks are some of the group's");
  }
  return {};
}

/// Tells whether two processes lay the board out alike and mean the same by it.
std::uint64_t layout_digest(const BoardOptions& options) {
  Digest digest;
  digest.add(options.rank_count);
  digest.add(options.sums.window_values_max);
  digest.add(options.sums.balancedness_values_max);
  digest.add(options.bridged ? 1 : 0);
  digest.add(options.decides ? 1 : 0);
  for (const RankId rank : options.local_ranks) {
    digest.add(rank.value);
  }
  return digest.value();
}

std::optional<Failure> failure_in(const Word& word) {
  const std::uint64_t packed = word.load(std::memory_order_acquire);
  return packed == 0 ? std::nullopt : std::optional(unpack_failure(packed));
}

/// The first wins. Release, so that whoever sees it sees what its writer did before.
bool set_once(Word& word, const Failure& failure) {
  std::uint64_t none = 0;
  return word.compare_exchange_strong(none, pack(failure), std::memory_order_acq_rel);
}

}  // namespace

SumSizes SumSizes::of(const Shape& shape, std::int32_t window_parts) {
  const std::int64_t layers = shape.layer_count;
  return {.window_values_max = layers * shape.expert_count * window_parts,
          .balancedness_values_max = layers * shape.rank_count};
}

Board::Board(BoardOptions options) : options_(std::move(options)) {
  bytes_ = slot_offset(RankId{options_.rank_count}, Kind::kWindow, 0);
}

Board::~Board() = default;

Result<std::unique_ptr<Board>> Board::create(const BoardOptions& options) {
  if (Result<void> valid = validate(options); !valid) {
    return tl::unexpected(valid.error());
  }
  std::unique_ptr<Board> board(new Board(options));
  Result<SharedMemory> memory =
      SharedMemory::create(kNoun, "eplb-board:" + options.name, board->bytes());
  if (!memory) {
    return tl::unexpected(memory.error());
  }
  board->memory_ = *std::move(memory);
  board->begin();
  return board;
}

Result<std::unique_ptr<Board>> Board::open(const BoardOptions& options, std::int64_t owner_pid,
                                           int owner_descriptor) {
  if (Result<void> valid = validate(options); !valid) {
    return tl::unexpected(valid.error());
  }
  std::unique_ptr<Board> board(new Board(options));
  Result<SharedMemory> memory =
      SharedMemory::open(kNoun, owner_pid, owner_descriptor, board->bytes());
  if (!memory) {
    return tl::unexpected(memory.error());
  }
  board->memory_ = *std::move(memory);
  if (board->header().layout_digest != layout_digest(options)) {
    return fail(ErrorCode::kInvalidConfig, "the board of process " + std::to_string(owner_pid) +
                                               " was made with other options");
  }
  return board;
}

// The memory comes zeroed, which is what statuses and slots begin with, and where nothing is
// written no page is taken.
void Board::begin() {
  header().layout_digest = layout_digest(options_);
  for (std::int32_t reader = 0; reader < reader_count(); ++reader) {
    const bool reads = reader == options_.rank_count
                           ? options_.bridged
                           : std::ranges::count(options_.local_ranks, RankId{reader}) > 0;
    for (std::atomic<std::int64_t>& below : reader_record(reader).sums_taken_below) {
      below.store(reads ? 0 : std::numeric_limits<std::int64_t>::max(), std::memory_order_release);
    }
  }
}

template <typename Record>
Record& Board::at(std::int64_t offset) const {
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): records in mapped memory.
  return *std::launder(reinterpret_cast<Record*>(memory_.bytes().data() + offset));
}

BoardHeader& Board::header() const {
  return at<BoardHeader>(0);
}

RankRecord& Board::reader_record(std::int32_t reader) const {
  return at<RankRecord>(kBytesOf<BoardHeader> + reader * kBytesOf<RankRecord>);
}

StatusRecord& Board::status_record(RankId rank, std::int64_t number) const {
  const std::int64_t first = kBytesOf<BoardHeader> + reader_count() * kBytesOf<RankRecord>;
  return at<StatusRecord>(first + (rank.value * kStatusesKept + number % kStatusesKept) *
                                      kBytesOf<StatusRecord>);
}

// A rank's next window sum may start while another rank has yet to take the last one; balancedness
// may be logged at every step, and come late.
std::int32_t Board::slot_count(Kind kind) {
  return kind == Kind::kWindow ? 2 : 8;
}

std::int64_t Board::values_max(Kind kind) const {
  return kind == Kind::kWindow ? options_.sums.window_values_max
                               : options_.sums.balancedness_values_max;
}

std::int64_t Board::slot_bytes(Kind kind) const {
  return rounded_up(kBytesOf<SumSlot> + values_max(kind) * kBytesOf<double>);
}

std::int64_t Board::slot_offset(RankId rank, Kind kind, std::int32_t slot) const {
  const std::int64_t statuses = options_.rank_count * kStatusesKept * kBytesOf<StatusRecord>;
  const std::int64_t first =
      kBytesOf<BoardHeader> + reader_count() * kBytesOf<RankRecord> + statuses;
  std::int64_t bytes_per_rank = 0;
  std::int64_t before = 0;
  for (const Kind each : kKinds) {
    before = each == kind ? bytes_per_rank : before;
    bytes_per_rank += slot_count(each) * slot_bytes(each);
  }
  return first + rank.value * bytes_per_rank + before + slot * slot_bytes(kind);
}

SumSlot& Board::sum_slot(RankId rank, Kind kind, std::int32_t slot) const {
  return at<SumSlot>(slot_offset(rank, kind, slot));
}

std::span<double> Board::sum_values(RankId rank, Kind kind, std::int32_t slot) const {
  return {&at<double>(slot_offset(rank, kind, slot) + kBytesOf<SumSlot>),
          static_cast<std::size_t>(values_max(kind))};
}

void Board::end(const Failure& failure) {
  set_once(options_.decides ? header().failure : header().proposal, failure);
  announce();
}

bool Board::decide(const Failure& failure) {
  return set_once(header().failure, failure);
}

std::optional<Failure> Board::failure() const {
  return failure_in(header().failure);
}

std::optional<Failure> Board::proposal() const {
  return failure_in(header().proposal);
}

void Board::come_to_step(RankId rank, std::int64_t step) {
  rank_record(rank).step.store(step, std::memory_order_release);
  announce();
}

std::int64_t Board::step_of(RankId rank) const {
  return rank_record(rank).step.load(std::memory_order_acquire);
}

void Board::leave(RankId rank) {
  rank_record(rank).left.store(1, std::memory_order_release);
  announce();
}

bool Board::has_left(RankId rank) const {
  return rank_record(rank).left.load(std::memory_order_acquire) != 0;
}

void Board::announce() {
  if (options_.bridged) {
    std::atomic<std::uint32_t>& word = header().announcements;
    word.fetch_add(1, std::memory_order_release);
    ::syscall(SYS_futex, &word, FUTEX_WAKE, std::numeric_limits<int>::max(), nullptr, nullptr, 0);
  }
}

std::uint32_t Board::announcements() const {
  return header().announcements.load(std::memory_order_acquire);
}

void Board::wait_for_announcement(std::uint32_t seen, std::int64_t limit_ms) const {
  const timespec limit{.tv_sec = limit_ms / 1000, .tv_nsec = limit_ms % 1000 * 1'000'000};
  ::syscall(SYS_futex, &header().announcements, FUTEX_WAIT, seen, &limit, nullptr, 0);
}

}  // namespace eplb::group
