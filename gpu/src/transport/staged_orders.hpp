#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "eplb/core/env/completion.hpp"

namespace eplb::gpu {

/// Tickets that are done when all their chunks have ended, whatever the order in which they do.
class StagedOrders {
 public:
  [[nodiscard]] env::Ticket open(std::int64_t chunk_count) {
    orders_.push_back({.chunks_left = chunk_count});
    return {first_ + static_cast<std::int64_t>(orders_.size()) - 1};
  }

  void end_chunk(env::Ticket ticket, bool failed) {
    Order& order = orders_[static_cast<std::size_t>(ticket.value - first_)];
    --order.chunks_left;
    order.failed |= failed;
    while (!orders_.empty() && orders_.front().chunks_left == 0) {
      if (orders_.front().failed) {
        failed_.push_back(first_);
      }
      orders_.pop_front();
      ++first_;
    }
  }

  /// Ends as failed, now, all that is pending: the device has given up.
  void break_off() { is_broken_ = true; }

  [[nodiscard]] bool is_broken() const { return is_broken_; }

  [[nodiscard]] env::Completion poll(env::Ticket ticket) const {
    if (ticket.value < first_) {
      for (const std::int64_t failed : failed_) {
        if (failed == ticket.value) {
          return env::Completion::kFailed;
        }
      }
      return env::Completion::kDone;
    }
    const auto index = static_cast<std::size_t>(ticket.value - first_);
    if (index < orders_.size() && orders_[index].chunks_left == 0) {
      return orders_[index].failed ? env::Completion::kFailed : env::Completion::kDone;
    }
    return is_broken_ ? env::Completion::kFailed : env::Completion::kPending;
  }

 private:
  struct Order {
    std::int64_t chunks_left = 0;
    bool failed = false;
  };

  std::deque<Order> orders_;
  std::int64_t first_ = 1;  ///< Ticket of the first order; all before have ended.
  std::vector<std::int64_t> failed_;
  bool is_broken_ = false;
};

}  // namespace eplb::gpu
