#include "eplb/sim/group/transport.hpp"

#include <algorithm>
#include <utility>

namespace eplb::sim {

void SimWire::order(const RowCopy& copy, SimTransport& end, env::Ticket ticket, bool needs_peer) {
  if (!needs_peer) {
    carry({.copy = copy, .ends = {{.transport = &end, .ticket = ticket}}});
    return;
  }
  const auto peer = std::ranges::find_if(waiting_, [&](const Carriage& carriage) {
    return carriage.copy == copy && carriage.ends.front().transport != &end;
  });
  if (peer == waiting_.end()) {
    waiting_.push_back({.copy = copy, .ends = {{.transport = &end, .ticket = ticket}}});
    return;
  }
  Carriage carriage = std::move(*peer);
  waiting_.erase(peer);
  carriage.ends.push_back({.transport = &end, .ticket = ticket});
  carry(std::move(carriage));
}

void SimWire::cancel(SimTransport& end) {
  std::vector<Carriage> given_up;
  std::erase_if(waiting_, [&](const Carriage& carriage) {
    const bool mine = carriage.ends.front().transport == &end;
    if (mine) {
      given_up.push_back(carriage);
    }
    return mine;
  });
  for (const Carriage& carriage : given_up) {
    end.end_copy(carriage.ends.front().ticket, true);
  }
}

void SimWire::carry(Carriage carriage) {
  rows_.begin_copy(carriage.copy);
  if (lost(carriage.copy)) {
    return;
  }
  if (flying_.empty()) {
    busy_since_ns_ = engine_.now_ns();
  }
  const RowCopy copy = carriage.copy;
  carriage.begin_ns = engine_.now_ns();
  const std::int64_t token = next_carriage_++;
  flying_.emplace(token, std::move(carriage));
  carrier_.transfer(copy, rows_.row_bytes(copy.source), *this, token);
}

bool SimWire::lost(const RowCopy& copy) const {
  return std::ranges::any_of(lost_, [&](RankId rank) {
    return rank == copy.source.rank || rank == copy.destination.rank;
  });
}

void SimWire::row_carried(std::int64_t token, bool failed) {
  const auto found = flying_.find(token);
  const Carriage carriage = std::move(found->second);
  flying_.erase(found);
  if (flying_.empty()) {
    busy_ns_ += engine_.now_ns() - busy_since_ns_;
  }
  if (lost(carriage.copy)) {
    return;
  }
  rows_.end_copy(carriage.copy, failed);
  if (trace_ != nullptr) {
    trace_->row_carried(carriage.copy, rows_.row_bytes(carriage.copy.source), carriage.begin_ns);
  }
  for (const End& end : carriage.ends) {
    end.transport->end_copy(end.ticket, failed);
  }
}

Result<env::Ticket> SimTransport::start(std::span<const RowCopy> copies) {
  if (timing_.refuses_transfer(rank_)) {
    return fail(ErrorCode::kDevice, "the transport refused a batch");
  }
  batches_.push_back({.copies_under_way = copies.size(), .failed = false});
  const env::Ticket ticket{static_cast<std::int64_t>(batches_.size())};
  for (const RowCopy& copy : copies) {
    wire_.order(copy, *this, ticket, traits_.side == env::TransferSide::kBoth);
  }
  return ticket;
}

env::Completion SimTransport::poll(env::Ticket ticket) const {
  const Batch& batch = batches_[static_cast<std::size_t>(ticket.value - 1)];
  if (batch.copies_under_way > 0) {
    return env::Completion::kPending;
  }
  return batch.failed ? env::Completion::kFailed : env::Completion::kDone;
}

void SimTransport::end_copy(env::Ticket ticket, bool failed) {
  Batch& batch = batches_[static_cast<std::size_t>(ticket.value - 1)];
  --batch.copies_under_way;
  batch.failed = batch.failed || failed;
  if (batch.copies_under_way == 0) {
    host_.wake();
  }
}

}  // namespace eplb::sim
