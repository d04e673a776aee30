#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
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

}  // namespace eplb::group
