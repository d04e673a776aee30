#include "eplb/group/trace_ring.hpp"

#include <algorithm>

#include "eplb/core/assert.hpp"

namespace eplb::group {

TraceRing::TraceRing(std::size_t capacity) : capacity_(capacity) {
  EPLB_ASSERT(capacity > 0);
  ring_.reserve(capacity);
}

void TraceRing::record(const env::TraceRecord& record) {
  const std::lock_guard lock(mutex_);
  if (ring_.size() < capacity_) {
    ring_.push_back(record);
    return;
  }
  ring_[next_] = record;
  next_ = (next_ + 1) % capacity_;
  ++dropped_;
}

std::vector<env::TraceRecord> TraceRing::records() const {
  const std::lock_guard lock(mutex_);
  std::vector<env::TraceRecord> records(ring_.size());
  std::ranges::rotate_copy(ring_, ring_.begin() + static_cast<std::ptrdiff_t>(next_),
                           records.begin());
  return records;
}

std::int64_t TraceRing::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

}  // namespace eplb::group
