#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "eplb/core/balancer.hpp"
#include "eplb/core/env/environment.hpp"
#include "eplb/sim/environment.hpp"
#include "eplb/sim/event_engine.hpp"
#include "eplb/sim/group/control_plane.hpp"
#include "eplb/sim/group/group_timing.hpp"
#include "eplb/sim/group/host.hpp"
#include "eplb/sim/group/host_services.hpp"
#include "eplb/sim/group/queue.hpp"
#include "eplb/sim/group/serving.hpp"
#include "eplb/sim/group/transport.hpp"

namespace eplb::sim {

/// What the ranks of a group share.
struct GroupParts {
  EventEngine& engine;
  GroupTiming& timing;
  Carrier& carrier;
  Violations& violations;
  RowStore& rows;
  SimWire& wire;
  SimPost& post;
  SimPlanDesk& plan_desk;
  Serving& serving;
  env::TraceSink& trace_sink;
  GroupTrace* trace = nullptr;  ///< Null: nobody looks.
};

/// Called when a rank's forward queue has come to its next forward.
class ForwardGate {
 public:
  ForwardGate() = default;
  ForwardGate(const ForwardGate&) = delete;
  ForwardGate& operator=(const ForwardGate&) = delete;
  ForwardGate(ForwardGate&&) = delete;
  ForwardGate& operator=(ForwardGate&&) = delete;
  virtual ~ForwardGate() = default;

  virtual void arrive(RankId rank) = 0;
};

/// One rank: its queues and services, its balancer, and the host thread that asks it.
class SimRank final : public Host, private EventHandler {
 public:
  struct Options {
    RankId rank;
    std::int32_t rank_count = 1;
    env::TransportTraits traits;
    bool counts_here = true;
  };

  SimRank(const GroupParts& parts, ForwardGate& gate, env::FaultPoints& fault_points,
          const Placement& initial, const Options& options);

  [[nodiscard]] env::Environment environment();

  /// The balancer that this rank runs: made with environment(). Without one it serves on as it is.
  void attach(std::unique_ptr<Balancer> balancer) { balancer_ = std::move(balancer); }

  [[nodiscard]] std::unique_ptr<Balancer> detach() { return std::move(balancer_); }

  /// Comes to its first forward, or to its next one after proceeds() was false.
  void resume();

  /// This rank's process ends by itself, having told the others why.
  void exit() { stopped_ = true; }

  /// Everything of this rank stops, as when its process is killed.
  void lose();

  /// From now on nobody calls progress here, as when the helper thread has died.
  void let_helper_die() { helper_alive_ = false; }

  void revive_helper();

  void end_forward();

  [[nodiscard]] Balancer* balancer_or_null() { return balancer_.get(); }

  [[nodiscard]] Balancer& balancer() { return *balancer_; }

  [[nodiscard]] const Balancer& balancer() const { return *balancer_; }

  [[nodiscard]] SimLoadRecorder& recorder() { return recorder_; }

  [[nodiscard]] const SimMapPublisher& maps() const { return maps_; }

  [[nodiscard]] SimPlanner& planner() { return planner_; }

  [[nodiscard]] bool lost() const { return lost_; }

  [[nodiscard]] bool stopped() const { return stopped_; }

  /// on_step answers so far that were holds, and the time held.
  [[nodiscard]] std::int64_t hold_count() const { return hold_count_; }

  [[nodiscard]] std::int64_t hold_ns() const { return hold_ns_; }

  void wake() override;
  void forward_reached() override;

 private:
  void on_event(const Event& event) override;
  void ask();
  void poll();
  void stop();

  GroupParts parts_;
  ForwardGate& gate_;
  env::FaultPoints& fault_points_;
  RankId rank_;
  SimClock clock_;
  SimQueue forward_;
  SimQueue migration_;
  SimMemory memory_;
  SimTransport transport_;
  SimControlPlane control_plane_;
  SimLoadRecorder recorder_;
  SimMapPublisher maps_;
  SimPlanner planner_;
  std::unique_ptr<Balancer> balancer_;

  bool poll_scheduled_ = false;        ///< By a wake,
  bool poll_again_scheduled_ = false;  ///< and while holding, though nothing wakes it.
  bool holding_ = false;
  bool helper_alive_ = true;
  bool lost_ = false;
  bool stopped_ = false;
  std::int64_t held_since_ns_ = 0;
  std::int64_t hold_count_ = 0;
  std::int64_t hold_ns_ = 0;
};

}  // namespace eplb::sim
