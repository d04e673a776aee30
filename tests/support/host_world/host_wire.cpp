#include "host_wire.hpp"

#include <algorithm>
#include <utility>

namespace eplb::test {

class HostWire::Transport final : public env::Transport {
 public:
  Transport(HostWire& wire, RankId rank) : wire_(wire), rank_(rank) {}

  [[nodiscard]] env::TransportTraits traits() const override {
    return {.side = wire_.options_.side, .host_staged = true};
  }

  [[nodiscard]] Result<env::Ticket> start(std::span<const RowCopy> copies) override {
    return wire_.start(rank_, copies);
  }

  [[nodiscard]] env::Completion poll(env::Ticket ticket) const override {
    return wire_.poll(rank_, ticket);
  }

  void cancel() override { wire_.cancel(rank_); }

 private:
  HostWire& wire_;
  RankId rank_;
};

HostWire::HostWire(HostRows& rows, const Options& options)
    : rows_(rows), options_(options), batches_(static_cast<std::size_t>(options.rank_count)) {
  for (std::int32_t rank = 0; rank < options.rank_count; ++rank) {
    pauses_.emplace_back(options.seed + static_cast<std::uint64_t>(rank));
    workers_.push_back(std::make_unique<Worker>());
  }
}

HostWire::~HostWire() = default;

std::unique_ptr<env::Transport> HostWire::transport(RankId rank) {
  return std::make_unique<Transport>(*this, rank);
}

void HostWire::break_sender(std::optional<RankId> rank) {
  const std::lock_guard lock(mutex_);
  broken_sender_ = rank;
}

env::Ticket HostWire::start(RankId rank, std::span<const RowCopy> copies) {
  const std::lock_guard lock(mutex_);
  std::deque<Batch>& batches = batches_[rank.index()];
  batches.push_back({.under_way = copies.size(), .failed = false});
  for (const RowCopy& copy : copies) {
    order(copy, {.rank = rank, .batch = batches.size() - 1});
  }
  return {static_cast<std::int64_t>(batches.size())};
}

void HostWire::order(const RowCopy& copy, End end) {
  std::vector<End> ends{end};
  if (options_.side == env::TransferSide::kBoth) {
    const auto peer = std::ranges::find_if(waiting_, [&](const Waiting& waiting) {
      return waiting.copy == copy && waiting.end.rank != end.rank;
    });
    if (peer == waiting_.end()) {
      waiting_.push_back({.copy = copy, .end = end});
      return;
    }
    ends.push_back(peer->end);
    waiting_.erase(peer);
  }
  workers_[end.rank.index()]->post([this, copy, ends = std::move(ends)] { carry(copy, ends); });
}

void HostWire::carry(const RowCopy& copy, std::vector<End> ends) {
  pauses_[ends.front().rank.index()].pause();
  bool failed = false;
  {
    const std::lock_guard lock(mutex_);
    failed = broken_sender_ == copy.source.rank;
  }
  if (!failed) {
    rows_.copy(copy);
  }
  const std::lock_guard lock(mutex_);
  finish(ends, failed);
}

void HostWire::finish(const std::vector<End>& ends, bool failed) {
  for (const End& end : ends) {
    Batch& batch = batches_[end.rank.index()][end.batch];
    --batch.under_way;
    batch.failed = batch.failed || failed;
  }
}

env::Completion HostWire::poll(RankId rank, env::Ticket ticket) const {
  const std::lock_guard lock(mutex_);
  const Batch& batch = batches_[rank.index()][static_cast<std::size_t>(ticket.value - 1)];
  if (batch.under_way > 0) {
    return env::Completion::kPending;
  }
  return batch.failed ? env::Completion::kFailed : env::Completion::kDone;
}

void HostWire::cancel(RankId rank) {
  const std::lock_guard lock(mutex_);
  std::erase_if(waiting_, [&](const Waiting& waiting) {
    if (waiting.end.rank != rank) {
      return false;
    }
    finish({waiting.end}, true);
    return true;
  });
}

}  // namespace eplb::test
