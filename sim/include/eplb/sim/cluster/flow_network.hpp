#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "eplb/sim/cluster/fair_shares.hpp"
#include "eplb/sim/event_engine.hpp"

namespace eplb::sim {

/// Who started a flow and is told when it has ended.
class FlowOwner {
 public:
  FlowOwner() = default;
  FlowOwner(const FlowOwner&) = delete;
  FlowOwner& operator=(const FlowOwner&) = delete;
  FlowOwner(FlowOwner&&) = delete;
  FlowOwner& operator=(FlowOwner&&) = delete;
  virtual ~FlowOwner() = default;

  virtual void flow_ended(std::int64_t token) = 0;
};

/// Flows through a cluster's resources in time: each has an amount to carry, first waits out its
/// latency, which takes nothing of anything, and then goes at its fair share.
class FlowNetwork final : private EventHandler {
 public:
  explicit FlowNetwork(EventEngine& engine) : engine_(engine) {}

  ResourceId add_resource(double capacity) { return shares_.add_resource(capacity); }

  /// From now on.
  void set_capacity(ResourceId resource, double capacity);

  /// `amount` in the flow's units; 0 ends right after the latency. The owner outlives the flow.
  void start(Demand demand, double amount, std::int64_t latency_ns, FlowOwner& owner,
             std::int64_t token);

  /// A flow without an amount, which goes on until it is released.
  [[nodiscard]] FlowId hold(Demand demand);
  void release(FlowId flow);

  [[nodiscard]] const FairShares& shares() const { return shares_; }

  [[nodiscard]] std::int64_t flow_count() const { return flow_count_; }

 private:
  /// A flow's place is kept until its last event has come; `serial` tells stale events.
  struct Carriage {
    Demand demand;
    double left = 0;
    double rate = 0;
    std::int64_t since_ns = 0;  ///< When `left` was so much, and `rate` began.
    FlowOwner* owner = nullptr;
    std::int64_t token = 0;
    FlowId flow;               ///< None during the latency.
    std::uint32_t serial = 0;  ///< Of the event that counts.
  };

  void on_event(const Event& event) override;
  void begin(std::size_t place);
  void end(std::size_t place);
  /// Rates are solved once an instant, after all that happens at it.
  void solve_soon();
  void solve();
  void expect(std::size_t place, std::int64_t time_ns);

  EventEngine& engine_;
  FairShares shares_;
  std::vector<Carriage> carriages_;
  std::vector<std::size_t> free_;
  std::vector<std::size_t> place_of_;  ///< By flow id; none of a flow that is held.
  std::int64_t flow_count_ = 0;
  bool solve_scheduled_ = false;
};

}  // namespace eplb::sim
