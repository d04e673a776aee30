#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "eplb/core/failure.hpp"
#include "eplb/core/ids.hpp"
#include "eplb/gpu/run/serve_run.hpp"

namespace eplb::gpu {

/// Does to one rank what a run's faults ask for, so that what the simulator says of them can be
/// seen. Time counts from its making.
class FaultDrill {
 public:
  FaultDrill(const ServeFaults& faults, RankId rank);

  /// Kills this process if that is due in this state of the rank's migration.
  void look(MigrationState state) const;

  /// Looks again and again, from a thread of its own, until this is gone.
  void watch(std::function<MigrationState()> state);

  /// Sleeps for as long as the rank's host is late or stalled.
  void delay_host();

 private:
  [[nodiscard]] double elapsed_ms() const;

  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::vector<LateHost> late_hosts_;
  std::vector<StalledHost> stalled_hosts_;  ///< Those that are still to come.
  std::vector<KilledRank> kills_;
  std::jthread watch_;  ///< Last: it sees all of the others.
};

}  // namespace eplb::gpu
