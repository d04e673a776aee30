#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "eplb/core/balancer.hpp"
#include "eplb/gpu/environment/gpu_rank.hpp"
#include "eplb/gpu/memory/symmetric_heap.hpp"
#include "eplb/gpu/run/content_check.hpp"
#include "eplb/gpu/run/pass_check.hpp"
#include "eplb/gpu/run/serve_run.hpp"
#include "eplb/gpu/stream.hpp"
#include "eplb/gpu/transport/timeline.hpp"
#include "eplb/group/progress_thread.hpp"
#include "eplb/group/rank_exchange.hpp"
#include "eplb/group/recording.hpp"
#include "eplb/group/step_barrier.hpp"
#include "fault_drill.hpp"

namespace eplb::gpu {

/// Which figures a rank keeps of a step.
struct StepShape {
  bool measured = false;
  bool committed = false;
  bool rearranging = false;
};

/// One rank of a run, on a thread of its own.
class RankRun {
 public:
  /// `exchange` is of all of the process' ranks, `staging` of the group's, for torch_gloo.
  RankRun(const ServeOptions& options, const ServeParts& parts, const ServedRank& place,
          group::RankExchange& exchange, std::span<std::byte> staging);
  ~RankRun();
  RankRun(const RankRun&) = delete;
  RankRun& operator=(const RankRun&) = delete;
  RankRun(RankRun&&) = delete;
  RankRun& operator=(RankRun&&) = delete;

  /// Reserves, fills and captures, with all other ranks.
  [[nodiscard]] Result<void> prepare();

  /// Serves all steps, or up to the group's end.
  [[nodiscard]] Result<void> serve();

  [[nodiscard]] env::ControlPlane& control_plane() { return *control_plane_; }

  // After serve().

  [[nodiscard]] const RankFigures& figures() const { return figures_; }

  [[nodiscard]] const std::vector<double>& step_ms() const { return step_ms_; }

  [[nodiscard]] const std::vector<BalanceSample>& balance() const { return balance_; }

  [[nodiscard]] std::vector<Rearrangement> rearrangements();

  /// Of each rearrangement seen to end; 0: not known.
  [[nodiscard]] const std::vector<std::int64_t>& wire_ns() const { return wire_ns_; }

  [[nodiscard]] double measured_s() const { return measured_s_; }

  [[nodiscard]] Failure stop_reason();

 private:
  [[nodiscard]] PeerGroup peers() const;
  [[nodiscard]] Result<void> reserve_tallies();
  [[nodiscard]] Result<void> make_balancer();
  [[nodiscard]] MigrationState state();
  [[nodiscard]] Result<bool> run_step(std::int64_t step, StepKind kind);
  [[nodiscard]] Result<StepDecision> ask(StepKind kind);
  [[nodiscard]] Result<void> wait_for_device();
  [[nodiscard]] Result<void> wait_for_late_forward();
  [[nodiscard]] Result<void> wait_until(const std::function<env::Completion()>& looked);
  [[nodiscard]] Result<void> drain();
  [[nodiscard]] Result<void> replay();
  void keep_figures(const StepShape& shape);
  void sample_balance(std::int64_t step);
  void verify_if_rearranged(std::int64_t step);
  void note_transfers(std::int64_t ended_count);
  [[nodiscard]] Result<void> close_figures();

  const ServeOptions& options_;
  EplbOptions eplb_;  ///< As the balancer is to have them.
  const ServeParts& parts_;
  ServedRank place_;
  group::RankExchange& exchange_;
  std::span<std::byte> staging_;
  std::unique_ptr<env::ControlPlane> control_plane_;
  group::StepBarrier barrier_;
  PopularitySource popularities_;

  std::unique_ptr<SymmetricHeap> tally_heap_;
  std::unique_ptr<GpuRank> rank_;
  std::unique_ptr<PassCheck> pass_check_;
  std::unique_ptr<ContentCheck> content_check_;
  std::unique_ptr<group::Recording> recording_;
  std::unique_ptr<Balancer> balancer_;
  std::unique_ptr<group::ProgressThread> progress_;
  std::unique_ptr<FaultDrill> drill_;
  std::unique_ptr<DecodeForward> forward_;
  std::optional<Timeline> timeline_;
  std::optional<Event> forward_begin_;
  std::optional<Event> forward_end_;
  std::optional<Event> boundary_begin_;
  std::optional<Event> boundary_end_;
  std::unique_ptr<PinnedBuffer<std::int32_t>> host_tallies_;

  RankFigures figures_;
  std::vector<double> step_ms_;
  std::vector<BalanceSample> balance_;
  std::vector<std::int64_t> wire_ns_;
  double measured_s_ = 0;
  std::int64_t committed_layers_ = 0;
  std::int64_t rearrangements_seen_ = 0;
  std::int64_t unaccounted_ns_ = 0;  ///< Of the step under way, what checks took.
};

}  // namespace eplb::gpu
