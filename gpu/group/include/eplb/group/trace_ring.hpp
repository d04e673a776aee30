#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "eplb/core/env/trace_sink.hpp"

namespace eplb::group {

/// Keeps a rank's newest records for whoever asks why something went wrong. Any thread may read
/// while the balancer writes; to write allocates nothing.
class TraceRing final : public env::TraceSink {
 public:
  /// Room for so many records, at least one.
  explicit TraceRing(std::size_t capacity);

  void record(const env::TraceRecord& record) override;

  /// Those that are kept, oldest first.
  [[nodiscard]] std::vector<env::TraceRecord> records() const;

  /// Older ones that newer ones have taken the place of.
  [[nodiscard]] std::int64_t dropped() const;

 private:
  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::vector<env::TraceRecord> ring_;
  std::size_t next_ = 0;  ///< Where the next record goes once the ring is full.
  std::int64_t dropped_ = 0;
};

/// How long rows of a rank were on their way in one rearrangement.
struct TransferTime {
  std::int64_t rearrangement = 0;
  std::int64_t ns = 0;
};

/// Of each rearrangement that ends among a rank's records (in their order): the time in which at
/// least one layer's transfers had started and not landed. What began before the first record is
/// not counted.
[[nodiscard]] std::vector<TransferTime> transfer_times(std::span<const env::TraceRecord> records);

}  // namespace eplb::group
