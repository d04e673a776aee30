#pragma once

#include <cstdint>
#include <map>

#include "eplb/core/row_address.hpp"
#include "eplb/sim/event_engine.hpp"
#include "eplb/sim/group/group_timing.hpp"

namespace eplb::sim {

/// Who has given a row to a carrier, and hears when its copy has ended.
class CarrierClient {
 public:
  CarrierClient() = default;
  CarrierClient(const CarrierClient&) = delete;
  CarrierClient& operator=(const CarrierClient&) = delete;
  CarrierClient(CarrierClient&&) = delete;
  CarrierClient& operator=(CarrierClient&&) = delete;
  virtual ~CarrierClient() = default;

  virtual void row_carried(std::int64_t token, bool failed) = 0;
};

/// Moves rows in simulated time: when each has arrived is the carrier's own.
class Carrier {
 public:
  Carrier() = default;
  Carrier(const Carrier&) = delete;
  Carrier& operator=(const Carrier&) = delete;
  Carrier(Carrier&&) = delete;
  Carrier& operator=(Carrier&&) = delete;
  virtual ~Carrier() = default;

  /// A row between two ranks. The client outlives its flight.
  virtual void transfer(const RowCopy& copy, std::int64_t bytes, CarrierClient& client,
                        std::int64_t token) = 0;

  /// A row within a rank, one of a batch that starts now on one queue.
  virtual void copy_locally(const RowCopy& copy, std::int64_t bytes, CarrierClient& client,
                            std::int64_t token) = 0;
};

/// When a copy ends, and whether it went well.
struct Flight {
  std::int64_t end_ns = 0;
  bool failed = false;
};

/// Ends that are known when a copy starts, whatever else is on its way.
class FlightTiming {
 public:
  FlightTiming() = default;
  FlightTiming(const FlightTiming&) = delete;
  FlightTiming& operator=(const FlightTiming&) = delete;
  FlightTiming(FlightTiming&&) = delete;
  FlightTiming& operator=(FlightTiming&&) = delete;
  virtual ~FlightTiming() = default;

  /// Its end is not before `now_ns`.
  [[nodiscard]] virtual Flight transfer(const RowCopy& copy, std::int64_t bytes,
                                        std::int64_t now_ns) = 0;

  [[nodiscard]] virtual Flight local_copy(const RowCopy& copy, std::int64_t bytes,
                                          std::int64_t now_ns) = 0;
};

/// A carrier that asks a FlightTiming.
class FlightCarrier final : public Carrier, private EventHandler {
 public:
  FlightCarrier(EventEngine& engine, FlightTiming& timing) : engine_(engine), timing_(timing) {}

  void transfer(const RowCopy& copy, std::int64_t bytes, CarrierClient& client,
                std::int64_t token) override {
    carry(timing_.transfer(copy, bytes, engine_.now_ns()), client, token);
  }

  void copy_locally(const RowCopy& copy, std::int64_t bytes, CarrierClient& client,
                    std::int64_t token) override {
    carry(timing_.local_copy(copy, bytes, engine_.now_ns()), client, token);
  }

 private:
  struct Flying {
    CarrierClient* client;
    std::int64_t token;
    bool failed;
  };

  void carry(const Flight& flight, CarrierClient& client, std::int64_t token);
  void on_event(const Event& event) override;

  EventEngine& engine_;
  FlightTiming& timing_;
  std::map<std::int64_t, Flying> flying_;
  std::int64_t next_ = 0;
};

}  // namespace eplb::sim
