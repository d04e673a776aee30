#include "board_writer.hpp"

#include <algorithm>
#include <utility>

#include "deadline.hpp"
#include "eplb/core/assert.hpp"
#include "status_words.hpp"

namespace eplb::group {

void BoardWriter::note_alive() {
  board_.rank_record(rank_).heard_ns.store(monotonic_ns(), std::memory_order_relaxed);
  board_.announce();
}

// See NOTE [sequence order].
void BoardWriter::post(const Status& status) {
  StatusRecord& record = board_.status_record(rank_, posted_);
  const StatusWords words = pack(status);
  const std::uint64_t sequence = 2 * static_cast<std::uint64_t>(posted_) + 1;
  record.sequence.store(sequence, std::memory_order_relaxed);
  for (std::size_t index = 0; index < words.size(); ++index) {
    record.words[index].store(words[index], std::memory_order_release);
  }
  record.sequence.store(sequence + 1, std::memory_order_release);
  ++posted_;
  note_alive();
}

// Two rearrangements have a word each, since a rank may begin the next one while another still asks
// for this one's. Release: the rows were emptied before.
void BoardWriter::post_retired(std::int64_t rearrangement, std::int32_t layers) {
  Word& word = board_.rank_record(rank_).retired[static_cast<std::size_t>(rearrangement % 2)];
  const std::uint64_t packed = pack_retired(rearrangement, layers);
  if (packed > word.load(std::memory_order_relaxed)) {
    word.store(packed, std::memory_order_release);
  }
  note_alive();
}

void BoardWriter::post_heartbeat() {
  note_alive();
}

void BoardWriter::start_sum(const env::SumKey& key, std::span<const double> values) {
  std::deque<KeptSum>& kept = kept_[static_cast<std::size_t>(key.kind)];
  if (key.kind == env::SumKey::Kind::kWindow) {
    kept.clear();  // A rank that starts the next window's sum has given up those before.
  }
  if (!kept.empty() || !write_sum(key.kind, key.index, values)) {
    kept.push_back({.index = key.index, .values = {values.begin(), values.end()}});
  }
}

void BoardWriter::write_kept_sums() {
  for (std::size_t kind = 0; kind < kept_.size(); ++kind) {
    std::deque<KeptSum>& kept = kept_[kind];
    while (!kept.empty() && write_sum(static_cast<env::SumKey::Kind>(kind), kept.front().index,
                                      kept.front().values)) {
      kept.pop_front();
    }
  }
}

bool BoardWriter::keeps_sums() const {
  return std::ranges::any_of(kept_, [](const auto& kept) { return !kept.empty(); });
}

bool BoardWriter::write_sum(env::SumKey::Kind kind, std::int64_t index,
                            std::span<const double> values) {
  for (std::int32_t number = 0; number < Board::slot_count(kind); ++number) {
    SumSlot& slot = board_.sum_slot(rank_, kind, number);
    if (!is_free(slot, kind)) {
      continue;
    }
    const std::span<double> target = board_.sum_values(rank_, kind, number);
    EPLB_ASSERT_OP(values.size(), <=, target.size());
    slot.key.store(0, std::memory_order_relaxed);
    std::ranges::copy(values, target.begin());
    slot.value_count = static_cast<std::int64_t>(values.size());
    slot.key.store(index + 1, std::memory_order_release);
    note_alive();
    return true;
  }
  return false;
}

// Acquire: a reader has read the values before it said that it is past them.
bool BoardWriter::is_free(const SumSlot& slot, env::SumKey::Kind kind) const {
  const std::int64_t key = slot.key.load(std::memory_order_relaxed);
  if (key == 0) {
    return true;
  }
  for (std::int32_t reader = 0; reader < board_.reader_count(); ++reader) {
    const auto& below =
        board_.reader_record(reader).sums_taken_below[static_cast<std::size_t>(kind)];
    if (below.load(std::memory_order_acquire) < key) {
      return false;
    }
  }
  return true;
}

std::optional<Status> StatusLog::try_take() {
  while (true) {
    const StatusRecord& record = board_->status_record(rank_, taken_);
    const std::uint64_t whole = 2 * static_cast<std::uint64_t>(taken_) + 2;
    const std::uint64_t before = record.sequence.load(std::memory_order_acquire);
    if (before < whole) {
      return std::nullopt;
    }
    StatusWords words{};
    for (std::size_t index = 0; index < words.size(); ++index) {
      words[index] = record.words[index].load(std::memory_order_acquire);
    }
    const std::uint64_t after = record.sequence.load(std::memory_order_relaxed);
    if (before == whole && after == whole) {
      ++taken_;
      return unpack(rank_, words);
    }
    // The writer has come round: no more of its log can be left than ends with what stands here.
    taken_ = static_cast<std::int64_t>((after - 1) / 2) - Board::kStatusesKept + 1;
  }
}

std::int32_t find_sum_slot(const Board& board, RankId rank, const env::SumKey& key) {
  for (std::int32_t slot = 0; slot < Board::slot_count(key.kind); ++slot) {
    if (board.sum_slot(rank, key.kind, slot).key.load(std::memory_order_acquire) == key.index + 1) {
      return slot;
    }
  }
  return -1;
}

}  // namespace eplb::group
