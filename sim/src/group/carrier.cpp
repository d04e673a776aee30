#include "eplb/sim/group/carrier.hpp"

namespace eplb::sim {

void FlightCarrier::carry(const Flight& flight, CarrierClient& client, std::int64_t token) {
  engine_.schedule(flight.end_ns, Phase::kCompletion, *this, next_);
  flying_.emplace(next_++, Flying{.client = &client, .token = token, .failed = flight.failed});
}

void FlightCarrier::on_event(const Event& event) {
  const auto found = flying_.find(event.argument);
  const Flying landed = found->second;
  flying_.erase(found);
  landed.client->row_carried(landed.token, landed.failed);
}

}  // namespace eplb::sim
