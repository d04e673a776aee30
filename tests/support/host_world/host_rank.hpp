#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "eplb/core/balancer.hpp"
#include "eplb/group/board_control_plane.hpp"
#include "eplb/group/planner_thread.hpp"
#include "eplb/group/progress_thread.hpp"
#include "eplb/group/recording.hpp"
#include "eplb/group/trace_ring.hpp"
#include "forward_desk.hpp"
#include "host_services.hpp"
#include "host_wire.hpp"
#include "worker_queue.hpp"

namespace eplb::test {

/// Tokens of a rank in one of its forwards, [layers, experts], and what that forward is. Called
/// from several threads at once.
using TokensOf = std::function<LoadMatrix(RankId rank, std::int64_t forward)>;
using KindOf = std::function<StepKind(RankId rank, std::int64_t forward)>;

/// One rank of a threaded group: its queues and services, its balancer, and the engine's thread
/// that runs its forwards.
class HostRank {
 public:
  struct Parts {
    HostRows& rows;
    HostWire& wire;
    ForwardDesk& desk;
    const PlacementPolicy& policy;
    const TokensOf& tokens;
    const KindOf& kind;
  };

  struct Options {
    RankId rank;
    std::uint64_t seed = 1;
    Balancer::Settings settings;
    bool memory_refused = false;
  };

  HostRank(const Parts& parts, std::unique_ptr<group::BoardControlPlane> control_plane,
           Options options);
  ~HostRank();
  HostRank(const HostRank&) = delete;
  HostRank& operator=(const HostRank&) = delete;
  HostRank(HostRank&&) = delete;
  HostRank& operator=(HostRank&&) = delete;

  /// Makes the balancer. Its error if it refuses.
  [[nodiscard]] Result<void> start();

  [[nodiscard]] bool started() const { return balancer_ != nullptr; }

  /// Begins to run so many forwards on the engine's thread.
  void begin(std::int64_t forwards);

  /// Whether what was begun has ended: all forwards, or the rank itself.
  [[nodiscard]] bool ended() const { return ended_; }

  /// As when its process is killed: it runs nothing any more, and tells nobody. Called once more it
  /// does nothing.
  void lose();

  [[nodiscard]] bool lost() const { return lost_; }

  /// Why the balancer has stopped it.
  [[nodiscard]] std::optional<Failure> stopped() const;

  /// Forwards that have ended, with their step.
  [[nodiscard]] std::int64_t forwards() const { return forwards_; }

  /// The longest that on_step held, in ns.
  [[nodiscard]] std::int64_t longest_hold_ns() const { return longest_hold_ns_; }

  /// Runs on the forward queue, after all that stands there, and is waited for. False if the queue
  /// has failed.
  [[nodiscard]] bool look(const std::function<void()>& at);

  [[nodiscard]] group::ProgressThread& thread() { return *thread_; }

  [[nodiscard]] group::Recording& recording() { return recording_; }

  [[nodiscard]] WorkerQueue& forward_queue() { return forward_; }

  [[nodiscard]] RankPolicy& policy() { return policy_; }

  [[nodiscard]] const HostMaps& maps() const { return maps_; }

  [[nodiscard]] env::ControlPlane& control_plane() { return *control_plane_; }

  /// What its forwards found wrong; between runs.
  [[nodiscard]] const std::vector<std::string>& faults() const { return faults_; }

 private:
  [[nodiscard]] env::Environment environment();
  void run(std::int64_t forwards);
  [[nodiscard]] bool run_forward();
  [[nodiscard]] bool serve();
  void check_slots();
  [[nodiscard]] bool balancer_stopped();
  void stop();

  Parts parts_;
  Options options_;
  group::MonotonicClock clock_;
  HostMemory memory_;
  WorkerQueue forward_;
  WorkerQueue migration_;
  std::unique_ptr<env::Transport> transport_;
  std::unique_ptr<group::BoardControlPlane> control_plane_;
  HostLoadRecorder recorder_;
  HostMaps maps_;
  RankPolicy policy_;
  group::PlannerThread planner_;
  group::TraceRing trace_;
  env::NoFaultPoints fault_points_;
  group::Recording recording_;
  std::unique_ptr<Balancer> balancer_;
  std::unique_ptr<group::ProgressThread> thread_;

  std::atomic<std::int64_t> forwards_ = 0;
  std::atomic<std::int64_t> longest_hold_ns_ = 0;
  std::atomic<bool> ended_ = true;
  std::atomic<bool> lost_ = false;
  std::atomic<bool> stopped_ = false;
  std::vector<std::string> faults_;  ///< The forward queue's, while one runs.
  std::unique_ptr<Worker> engine_;   ///< Last: it uses all of the above.
};

}  // namespace eplb::test
