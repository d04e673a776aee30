#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "checked_recorder.hpp"
#include "checks.hpp"
#include "draw.hpp"
#include "drawn_forward.hpp"
#include "eplb/core/balancer.hpp"
#include "eplb/gpu/buffer.hpp"
#include "eplb/gpu/environment/gpu_rank.hpp"
#include "eplb/gpu/stream.hpp"
#include "eplb/group/membership.hpp"
#include "eplb/group/progress_thread.hpp"
#include "peer/rank_world.hpp"
#include "shuffling_policy.hpp"

namespace eplb::gpu::test {

struct ServedOptions {
  bool use_async = true;
  Communicator communicator = Communicator::kSymmMem;
  bool has_engine = false;  ///< Weights and the stream of the forwards are an engine's.
  std::uint64_t seed = 20261130;
};

/// One rank of a group that serves on one device: forwards that count, a balancer with a thread of
/// its own, and weights whose content says whose they are. All ranks make the same calls.
class ServedRank {
 public:
  static constexpr std::int32_t kRanks = 4;

  [[nodiscard]] static Shape shape();

  /// Throws std::runtime_error if the rank or its balancer is refused.
  ServedRank(Checks& checks, const RankSetting& setting, const ServedOptions& options);

  /// Ends the rank, together with the others.
  ~ServedRank();
  ServedRank(const ServedRank&) = delete;
  ServedRank& operator=(const ServedRank&) = delete;
  ServedRank(ServedRank&&) = delete;
  ServedRank& operator=(ServedRank&&) = delete;

  /// Steps until so many more rearrangements have ended, and looks at all content after each.
  void serve(std::int64_t rearrangement_count);

  /// Drains, gives the regions back, reserves them anew and loads the weights again.
  void sleep_and_wake();

  /// What must hold of all that was served; call it once, last. Rank 0 prints a line.
  void judge();

 private:
  [[nodiscard]] std::variant<OwnWeights, EngineWeights> weights();
  void load_weights();
  void step();
  void drain();
  void verify();
  void expect_digests(const Placement& placement);
  void expect_maps(const Placement& placement);
  [[nodiscard]] std::int64_t ended_rearrangements();
  [[nodiscard]] StepKind drawn_kind();
  [[nodiscard]] std::string named(const std::string& what) const;

  Checks& checks_;
  PeerGroup group_;
  ServedOptions options_;
  Draw shared_draw_;  ///< The same on all ranks.
  Draw own_draw_;
  ShufflingPolicy policy_;
  std::unique_ptr<group::Membership> membership_;  ///< Rank 0 owns it for all.
  std::unique_ptr<group::BoardControlPlane> control_plane_;
  Stream engine_stream_;
  std::vector<DeviceBuffer<std::byte>> engine_buffers_;
  std::unique_ptr<GpuRank> rank_;
  std::optional<DrawnForward> forward_;
  std::optional<CheckedRecorder> recorder_;
  std::unique_ptr<Balancer> balancer_;
  std::unique_ptr<group::ProgressThread> progress_;
  std::vector<LayerMap> maps_;  ///< Those in force.
  PinnedBuffer<std::int32_t> experts_;
  FetchedBuffer<std::uint64_t> digests_;
  FetchedBuffer<std::uint64_t> expected_digests_;
  std::int64_t step_count_ = 0;
  std::int64_t verified_rows_ = 0;
};

}  // namespace eplb::gpu::test
