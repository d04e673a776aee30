#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace eplb::gpu {

/// How host-staged rows are cut, the same on all ranks.
struct MailboxShape {
  std::int64_t chunk_bytes = 1 << 20;
  std::int32_t slot_count = 4;  ///< Chunks that may be under way between two ranks.
};

/// A ring of chunks in memory that two ranks share, one writing and one reading. Memory filled with
/// zeros is an empty ring.
///
/// NOTE [mailbox generations] When a rearrangement is aborted, one end may have sent what the other
/// will never read. Each chunk carries its sender's generation, which both ends raise as they
/// cancel: a reader drops chunks of older ones, and leaves those of a newer one until it has
/// cancelled too.
class HostMailbox {
 public:
  static constexpr std::int32_t kSlotsMax = 12;

  /// What a mailbox takes of the shared memory; a multiple of 4096.
  [[nodiscard]] static std::int64_t bytes(const MailboxShape& shape) {
    const std::int64_t content = kHeaderBytes + shape.chunk_bytes * shape.slot_count;
    return (content + kPageBytes - 1) / kPageBytes * kPageBytes;
  }

  HostMailbox(std::byte* begin, const MailboxShape& shape) : begin_(begin), shape_(shape) {}

  // The writer's part: chunks are filled, and then published, in order.

  /// Whether the slot of chunk `chunk` is free.
  [[nodiscard]] bool has_room(std::uint64_t chunk) const {
    return chunk - word(kReadWord).load(std::memory_order_acquire) <
           static_cast<std::uint64_t>(shape_.slot_count);
  }

  /// All chunks below `end` are filled. The chunk's generation is set before.
  void publish(std::uint64_t end) { word(kWrittenWord).store(end, std::memory_order_release); }

  void set_generation(std::uint64_t chunk, std::uint64_t generation) {
    word(generation_word(chunk)).store(generation, std::memory_order_relaxed);
  }

  // The reader's part: chunks are read, and then given back, in order.

  [[nodiscard]] bool is_published(std::uint64_t chunk) const {
    return chunk < word(kWrittenWord).load(std::memory_order_acquire);
  }

  /// Of a published chunk.
  [[nodiscard]] std::uint64_t generation(std::uint64_t chunk) const {
    return word(generation_word(chunk)).load(std::memory_order_relaxed);
  }

  /// All chunks below `end` have been read.
  void give_back(std::uint64_t end) { word(kReadWord).store(end, std::memory_order_release); }

  /// Where a chunk's content is.
  [[nodiscard]] std::byte* content(std::uint64_t chunk) const {
    return begin_ + kHeaderBytes + static_cast<std::int64_t>(slot(chunk)) * shape_.chunk_bytes;
  }

 private:
  // Words that different ranks write lie in different cache lines.
  static constexpr std::int64_t kHeaderBytes = 256;
  static constexpr std::int64_t kPageBytes = 4096;
  static constexpr std::size_t kWrittenWord = 0;
  static constexpr std::size_t kReadWord = 8;
  static constexpr std::size_t kGenerationWords = 16;
  static_assert((kGenerationWords + kSlotsMax) * sizeof(std::uint64_t) <= kHeaderBytes);

  [[nodiscard]] std::uint64_t slot(std::uint64_t chunk) const {
    return chunk % static_cast<std::uint64_t>(shape_.slot_count);
  }

  [[nodiscard]] std::size_t generation_word(std::uint64_t chunk) const {
    return kGenerationWords + slot(chunk);
  }

  [[nodiscard]] std::atomic_ref<std::uint64_t> word(std::size_t index) const {
    return std::atomic_ref(reinterpret_cast<std::uint64_t*>(begin_)[index]);
  }

  std::byte* begin_;
  MailboxShape shape_;
};

}  // namespace eplb::gpu
