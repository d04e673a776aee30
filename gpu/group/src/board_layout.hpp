#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace eplb::group {

inline constexpr std::size_t kCacheLineBytes = 64;
inline constexpr std::size_t kStatusWordCount = 6;
inline constexpr std::size_t kSumKindCount = 2;

using Word = std::atomic<std::uint64_t>;
static_assert(Word::is_always_lock_free, "processes share these words");
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

struct alignas(kCacheLineBytes) BoardHeader {
  Word failure;   ///< As status_words packs it; 0 is none.
  Word proposal;  ///< The same.
  std::uint64_t layout_digest = 0;
  alignas(kCacheLineBytes) std::atomic<std::uint32_t> announcements;
};

/// What a rank says of itself and a reader of what it has read.
struct alignas(kCacheLineBytes) RankRecord {
  std::atomic<std::int64_t> heard_ns;  ///< monotonic_ns() of its last word; 0 before.
  std::array<Word, 2> retired;         ///< By the rearrangement's lowest bit, packed.
  /// By kind: it takes no sum below this index any more.
  std::array<std::atomic<std::int64_t>, kSumKindCount> sums_taken_below;
  std::atomic<std::int64_t> step;  ///< That it has come to; see StepBarrier.
  std::atomic<std::uint32_t> left;
};

/// A status of a rank's log, number n. `sequence` is 2n + 1 while it is written and 2n + 2 after.
///
/// NOTE [sequence order] Each word is stored with release and loaded with acquire: a reader that
/// got a word of a later status thereby also sees that status' odd sequence, and drops what it
/// read. Fences would do with relaxed words, but the thread sanitizer does not know them, and on
/// x86 and Arm these loads and stores cost next to nothing.
struct alignas(kCacheLineBytes) StatusRecord {
  Word sequence;
  std::array<Word, kStatusWordCount> words;
};

/// One rank's values of a sum; they follow it.
struct alignas(kCacheLineBytes) SumSlot {
  std::atomic<std::int64_t>
      key;  ///< Index of the sum's key plus 1; 0 if none. Set after the values.
  std::int64_t value_count = 0;
};

}  // namespace eplb::group
