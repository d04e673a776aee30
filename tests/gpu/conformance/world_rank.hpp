#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "breakable.hpp"
#include "device_look.hpp"
#include "eplb/core/balancer.hpp"
#include "eplb/core/communicator.hpp"
#include "eplb/gpu/environment/gpu_rank.hpp"
#include "eplb/group/board_control_plane.hpp"
#include "eplb/group/progress_thread.hpp"
#include "eplb/group/rank_exchange.hpp"
#include "eplb/group/recording.hpp"
#include "forward_desk.hpp"
#include "host_services.hpp"
#include "token_forward.hpp"
#include "worker.hpp"
#include "world.hpp"

namespace eplb::gpu::test {

/// One rank of a group that shares a GPU: the environment that ranks really have, with parts of it
/// that can be broken, its balancer, and the engine's thread that runs its forwards.
class WorldRank {
 public:
  struct Parts {
    const eplb::test::WorldOptions& options;
    Communicator communicator;
    group::RankExchange& exchange;
    eplb::test::ForwardDesk& desk;
    std::span<std::byte> staging;
  };

  /// What `parts` refer to outlives it.
  WorldRank(const Parts& parts, RankId rank,
            std::unique_ptr<group::BoardControlPlane> control_plane);

  /// After stop() of all ranks, and once their device stands still.
  ~WorldRank();
  WorldRank(const WorldRank&) = delete;
  WorldRank& operator=(const WorldRank&) = delete;
  WorldRank(WorldRank&&) = delete;
  WorldRank& operator=(WorldRank&&) = delete;

  /// Makes the environment and the balancer, and loads the weights. All ranks call it together.
  /// Throws CudaError.
  [[nodiscard]] Result<void> start();

  [[nodiscard]] bool started() const { return thread_ != nullptr; }

  /// Begins to run so many forwards on the engine's thread.
  void begin(std::int64_t forwards);

  /// Whether what was begun has ended: all forwards, or the rank itself.
  [[nodiscard]] bool ended() const { return ended_; }

  /// Whether its forwards have ended by an exception, which is among the faults.
  [[nodiscard]] bool threw() const { return threw_; }

  /// From now on it runs nothing, and tells nobody: as when its process is killed. Called once more
  /// it does nothing.
  void lose();

  [[nodiscard]] bool lost() const { return lost_; }

  /// Tells the group that `gone` is lost.
  void tell_lost(RankId gone);

  /// Why the balancer has stopped it.
  [[nodiscard]] std::optional<Failure> stopped() const;

  /// What `use(Recording&, Balancer&)` returns, called while neither entry runs.
  template <typename Use>
  auto with_balancer(const Use& use) {
    return thread_->with_balancer([&](Balancer& balancer) { return use(*recording_, balancer); });
  }

  /// Takes its memory anew, together with all ranks, and loads the weights.
  [[nodiscard]] Result<void> reserve_memory();

  // Between runs.
  [[nodiscard]] bool holds(LayerId layer, LocalSlot slot, LogicalExpertId expert);
  [[nodiscard]] std::optional<LayerMap> map(LayerId layer) const;

  [[nodiscard]] const std::vector<std::string>& faults() const { return faults_; }

  [[nodiscard]] eplb::test::RankPolicy& policy() { return policy_; }

  [[nodiscard]] BreakableTransport& transport() { return *transport_; }

  [[nodiscard]] BreakableQueue& forward_queue() { return *forward_queue_; }

 private:
  [[nodiscard]] const Shape& shape() const { return parts_.options.settings.shape; }

  [[nodiscard]] Result<void> make_rank();
  void make_recording();
  void load_weights(const Placement& placement);
  void run(std::int64_t forwards);
  [[nodiscard]] bool run_forward();
  [[nodiscard]] StepDecision step();
  void check_slots();
  void await_end();
  void stop();
  void note(const std::string& fault);

  Parts parts_;
  RankId rank_;
  std::unique_ptr<group::BoardControlPlane> control_plane_;
  eplb::test::RankPolicy policy_;
  std::unique_ptr<GpuRank> environment_;
  std::optional<BreakableQueue> forward_queue_;
  std::optional<BreakableQueue> migration_queue_;
  std::optional<BreakableTransport> transport_;
  std::optional<group::Recording> recording_;
  std::optional<TokenForward> forward_;
  std::optional<SlotLook> look_;
  std::unique_ptr<Balancer> balancer_;
  std::unique_ptr<group::ProgressThread> thread_;

  std::int64_t forward_count_ = 0;   ///< That have ended, with their step.
  std::vector<std::string> faults_;  ///< The engine's, while it runs.
  std::atomic<bool> ended_ = true;
  std::atomic<bool> threw_ = false;
  std::atomic<bool> lost_ = false;
  std::atomic<bool> stopped_ = false;
  std::unique_ptr<eplb::test::Worker> engine_;  ///< Last: it uses all of the above.
};

}  // namespace eplb::gpu::test
