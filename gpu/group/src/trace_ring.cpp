#include "eplb/group/trace_ring.hpp"

#include <algorithm>
#include <set>
#include <utility>

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

std::vector<TransferTime> transfer_times(std::span<const env::TraceRecord> records) {
  std::vector<TransferTime> times;
  std::set<std::int64_t> layers;  // Under way.
  std::int64_t since_ns = 0;
  std::int64_t sum_ns = 0;
  for (const env::TraceRecord& record : records) {
    switch (record.event) {
      case env::TraceEvent::kTransferStarted:
        since_ns = layers.empty() ? record.time_ns : since_ns;
        layers.insert(record.subject);
        break;
      case env::TraceEvent::kLayerLanded:
        if (layers.erase(record.subject) > 0 && layers.empty()) {
          sum_ns += record.time_ns - since_ns;
        }
        break;
      case env::TraceEvent::kRearrangementEnd:
        sum_ns += layers.empty() ? 0 : record.time_ns - since_ns;  // It was given up.
        layers.clear();
        times.push_back({.rearrangement = record.subject, .ns = std::exchange(sum_ns, 0)});
        break;
      default:
        break;
    }
  }
  return times;
}

}  // namespace eplb::group
