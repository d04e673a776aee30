#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "eplb/core/env/queue.hpp"
#include "eplb/core/env/transport.hpp"
#include "eplb/core/ids.hpp"
#include "eplb/gpu/memory/symmetric_heap.hpp"

// Parts of a real environment that fail where they are told to. Whoever tells them may be any
// thread; all else is called as the part behind them.

namespace eplb::gpu::test {

/// Copies of a broken queue name a row that is not there, so that the real queue fails by itself.
class BreakableQueue final : public env::Queue {
 public:
  explicit BreakableQueue(env::Queue& inner) : inner_(inner) {}

  void break_copies() { broken_ = true; }

  void copy(std::span<const RowCopy> copies) override {
    if (!broken_ || copies.empty()) {
      inner_.copy(copies);
      return;
    }
    std::vector<RowCopy> nowhere(copies.begin(), copies.end());
    nowhere.front().destination.row = -1;
    inner_.copy(nowhere);
  }

  [[nodiscard]] env::Ticket signal() override { return inner_.signal(); }

  // The real queue knows real queues alone, and a balancer none but those of its environment.
  void wait(const env::Queue& other, env::Ticket ticket) override {
    inner_.wait(static_cast<const BreakableQueue&>(other).inner_, ticket);
  }

  [[nodiscard]] env::Completion poll(env::Ticket ticket) const override {
    return inner_.poll(ticket);
  }

 private:
  env::Queue& inner_;
  std::atomic<bool> broken_ = false;
};

/// Rows that leave a broken sender do not go, nor do others of the same start; whoever has started
/// them, at either end, is told once it asks.
class BreakableTransport final : public env::Transport {
 public:
  explicit BreakableTransport(env::Transport& inner) : inner_(inner) {}

  void break_sender(std::optional<RankId> rank) { broken_sender_ = rank.value_or(kNobody); }

  [[nodiscard]] env::TransportTraits traits() const override { return inner_.traits(); }

  [[nodiscard]] Result<env::Ticket> start(std::span<const RowCopy> copies) override {
    const RankId broken = broken_sender_;
    for (const RowCopy& copy : copies) {
      if (copy.source.rank == broken) {
        return kNeverLands;
      }
    }
    return inner_.start(copies);
  }

  [[nodiscard]] env::Completion poll(env::Ticket ticket) const override {
    return ticket == kNeverLands ? env::Completion::kFailed : inner_.poll(ticket);
  }

  void cancel() override { inner_.cancel(); }

 private:
  static constexpr RankId kNobody{-1};
  static constexpr env::Ticket kNeverLands{std::numeric_limits<std::int64_t>::max()};

  env::Transport& inner_;
  std::atomic<RankId> broken_sender_ = kNobody;
};

/// A heap of which one rank can have nothing. It says so in the round of all ranks, as a rank does
/// that is out of memory.
class RefusingHeap final : public SymmetricHeap {
 public:
  RefusingHeap(std::unique_ptr<SymmetricHeap> inner, bool refuses)
      : inner_(std::move(inner)), refuses_(refuses) {}

  [[nodiscard]] Result<void> reserve(std::int64_t bytes, const Result<void>& so_far) override {
    if (refuses_ && so_far) {
      return inner_->reserve(bytes, fail(ErrorCode::kResourceExhausted, "no memory is left here"));
    }
    return inner_->reserve(bytes, so_far);
  }

  void release() override { inner_->release(); }

  [[nodiscard]] std::span<std::byte* const> bases() const override { return inner_->bases(); }

  [[nodiscard]] std::int64_t taken_bytes() const override { return inner_->taken_bytes(); }

 private:
  std::unique_ptr<SymmetricHeap> inner_;
  bool refuses_;
};

}  // namespace eplb::gpu::test
