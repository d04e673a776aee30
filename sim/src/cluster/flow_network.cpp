#include "eplb/sim/cluster/flow_network.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace eplb::sim {
namespace {

/// An event's argument: the place and its serial number, or this.
constexpr std::int64_t kSolve = -1;
constexpr int kSerialBits = 32;

/// Of a flow that is held.
constexpr std::size_t kNoPlace = static_cast<std::size_t>(-1);

}  // namespace

void FlowNetwork::set_capacity(ResourceId resource, double capacity) {
  shares_.set_capacity(resource, capacity);
  solve_soon();
}

void FlowNetwork::start(Demand demand, double amount, std::int64_t latency_ns, FlowOwner& owner,
                        std::int64_t token) {
  std::size_t place = carriages_.size();
  if (free_.empty()) {
    carriages_.emplace_back();
  } else {
    place = free_.back();
    free_.pop_back();
  }
  ++flow_count_;
  Carriage& carriage = carriages_[place];
  carriage.demand = std::move(demand);
  carriage.left = amount;
  carriage.owner = &owner;
  carriage.token = token;
  carriage.flow = {};
  carriage.rate = 0;
  if (latency_ns > 0 || amount <= 0) {
    expect(place, engine_.now_ns() + latency_ns);
  } else {
    begin(place);
  }
}

void FlowNetwork::expect(std::size_t place, std::int64_t time_ns) {
  const std::uint32_t serial = ++carriages_[place].serial;
  const std::int64_t argument = (static_cast<std::int64_t>(place) << kSerialBits) | serial;
  engine_.schedule(time_ns, Phase::kCompletion, *this, argument);
}

void FlowNetwork::on_event(const Event& event) {
  if (event.argument == kSolve) {
    solve();
    return;
  }
  const auto place = static_cast<std::size_t>(event.argument >> kSerialBits);
  if (carriages_[place].serial != static_cast<std::uint32_t>(event.argument)) {
    return;  // Its rate has changed since.
  }
  if (carriages_[place].flow == FlowId{} && carriages_[place].left > 0) {
    begin(place);
  } else {
    end(place);
  }
}

void FlowNetwork::begin(std::size_t place) {
  Carriage& carriage = carriages_[place];
  carriage.flow = shares_.add(std::move(carriage.demand));
  carriage.since_ns = engine_.now_ns();
  place_of_.resize(std::max(place_of_.size(), carriage.flow.index() + 1));
  place_of_[carriage.flow.index()] = place;
  solve_soon();
}

FlowId FlowNetwork::hold(Demand demand) {
  const FlowId flow = shares_.add(std::move(demand));
  place_of_.resize(std::max(place_of_.size(), flow.index() + 1));
  place_of_[flow.index()] = kNoPlace;
  solve_soon();
  return flow;
}

void FlowNetwork::release(FlowId flow) {
  shares_.remove(flow);
  solve_soon();
}

void FlowNetwork::end(std::size_t place) {
  Carriage& carriage = carriages_[place];
  if (carriage.flow != FlowId{}) {
    shares_.remove(carriage.flow);
    solve_soon();
  }
  FlowOwner& owner = *carriage.owner;
  const std::int64_t token = carriage.token;
  ++carriage.serial;
  free_.push_back(place);
  owner.flow_ended(token);
}

void FlowNetwork::solve_soon() {
  if (!solve_scheduled_) {
    solve_scheduled_ = true;
    engine_.schedule(engine_.now_ns(), Phase::kStart, *this, kSolve);
  }
}

void FlowNetwork::solve() {
  solve_scheduled_ = false;
  const std::int64_t now_ns = engine_.now_ns();
  for (const FlowId flow : shares_.solve()) {
    const std::size_t place = place_of_[flow.index()];
    if (place == kNoPlace) {
      continue;
    }
    Carriage& carriage = carriages_[place];
    carriage.left -= carriage.rate * static_cast<double>(now_ns - carriage.since_ns);
    carriage.since_ns = now_ns;
    carriage.rate = shares_.rate(flow);
    if (carriage.rate > 0) {
      expect(place, now_ns + std::llround(std::max(carriage.left, 0.0) / carriage.rate));
    } else {
      ++carriage.serial;  // It stands still until its rate changes again.
    }
  }
}

}  // namespace eplb::sim
