#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "eplb/core/env/clock.hpp"
#include "eplb/core/env/memory.hpp"
#include "eplb/core/env/queue.hpp"
#include "eplb/core/env/transport.hpp"

namespace eplb::test {

/// Time that stands still until the test moves it.
class ScriptedClock final : public env::Clock {
 public:
  [[nodiscard]] std::int64_t now_ns() const override { return time_ns; }

  std::int64_t time_ns = 0;
};

/// Tickets that end when the test says so: all at once unless it holds them back.
class ScriptedTickets {
 public:
  [[nodiscard]] env::Ticket next() { return {++given_}; }

  [[nodiscard]] env::Completion state_of(env::Ticket ticket) const {
    if (failed.contains(ticket.value)) {
      return env::Completion::kFailed;
    }
    const bool done = !held_back || ticket.value <= done_value;
    return done ? env::Completion::kDone : env::Completion::kPending;
  }

  /// Number of tickets given, which is the newest one's value.
  [[nodiscard]] std::int64_t given() const { return given_; }

  bool held_back = false;
  std::int64_t done_value = 0;  ///< While held back: what has ended so far.
  std::set<std::int64_t> failed;

 private:
  std::int64_t given_ = 0;
};

/// Keeps what is appended; moves no row.
class ScriptedQueue final : public env::Queue {
 public:
  struct Wait {
    const env::Queue* other;
    std::int64_t ticket;

    friend bool operator==(const Wait&, const Wait&) = default;
  };

  void copy(std::span<const RowCopy> row_copies) override {
    copies.emplace_back(row_copies.begin(), row_copies.end());
  }

  [[nodiscard]] env::Ticket signal() override { return tickets.next(); }

  void wait(const env::Queue& other, env::Ticket ticket) override {
    waits.push_back({.other = &other, .ticket = ticket.value});
  }

  [[nodiscard]] env::Completion poll(env::Ticket ticket) const override {
    return tickets.state_of(ticket);
  }

  ScriptedTickets tickets;
  std::vector<std::vector<RowCopy>> copies;  ///< One a call.
  std::int64_t cancel_count = 0;
  std::vector<Wait> waits;
};

/// Keeps what is started; moves no row.
class ScriptedTransport final : public env::Transport {
 public:
  [[nodiscard]] env::TransportTraits traits() const override { return {.side = side}; }

  [[nodiscard]] Result<env::Ticket> start(std::span<const RowCopy> row_copies) override {
    if (refuses) {
      return fail(ErrorCode::kDevice, "scripted refusal");
    }
    copies.emplace_back(row_copies.begin(), row_copies.end());
    return tickets.next();
  }

  void cancel() override { ++cancel_count; }

  [[nodiscard]] env::Completion poll(env::Ticket ticket) const override {
    return tickets.state_of(ticket);
  }

  env::TransferSide side = env::TransferSide::kSender;
  bool refuses = false;
  ScriptedTickets tickets;
  std::vector<std::vector<RowCopy>> copies;  ///< One a call.
  std::int64_t cancel_count = 0;
};

class ScriptedMemory final : public env::Memory {
 public:
  [[nodiscard]] Result<void> reserve(const env::MemoryLayout& layout) override {
    if (refuses) {
      return fail(ErrorCode::kResourceExhausted, "scripted refusal");
    }
    layouts.push_back(layout);
    return {};
  }

  void release() override { ++release_count; }

  bool refuses = false;
  std::vector<env::MemoryLayout> layouts;  ///< One a reservation.
  int release_count = 0;
};

}  // namespace eplb::test
