#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "eplb/core/balancer.hpp"
#include "eplb/core/failure.hpp"
#include "eplb/core/ids.hpp"
#include "eplb/core/load.hpp"
#include "eplb/core/options.hpp"
#include "eplb/core/policy.hpp"
#include "eplb/core/result.hpp"
#include "eplb/core/shape.hpp"
#include "eplb/core/topology.hpp"
#include "eplb/gpu/run/decode_forward.hpp"
#include "eplb/group/membership.hpp"

namespace eplb::gpu {

/// What is proved of the slots after each rearrangement, beside what forwards check as they serve.
enum class Verification : std::uint8_t { kServed, kSampled, kEveryByte };

/// What goes wrong on purpose, on one rank, in time since its balancer stood.
struct LateHost {  ///< Before its balancer's step.
  RankId rank;
  double begin_ms = 0;
  double end_ms = 0;
  double late_us = 0;
};

struct StalledHost {  ///< Once.
  RankId rank;
  double at_ms = 0;
  double duration_ms = 0;
};

struct KilledRank {  ///< Its process, by SIGKILL, the first time that its migration is in `state`.
  RankId rank;
  double at_ms = 0;
  std::optional<MigrationState> state = std::nullopt;  ///< None: any.
};

struct ServeFaults {
  std::vector<LateHost> late_hosts = {};
  std::vector<StalledHost> stalled_hosts = {};
  std::vector<KilledRank> killed_ranks = {};
};

/// Equal on all ranks.
struct ServeOptions {
  Shape shape;
  EplbOptions eplb;
  Communicator communicator = Communicator::kSymmMem;
  PolicyCosts costs = {};
  std::vector<std::vector<std::int64_t>> tensor_bytes;  ///< Of an expert, [layers][tensors].
  DecodeOptions decode;                                 ///< Its rank and block count are not used.
  std::int64_t steps = 0;
  std::int64_t warmup_steps = 0;  ///< The first of them, which count in no figure.
  Verification verification = Verification::kSampled;
  /// Keep all that balancers ask and are answered, and run each again at the end: kInternal where
  /// one did something else. Takes some kilobytes a step.
  bool replays = false;
  std::int64_t step_deadline_ms = 60'000;  ///< For a forward, a hold, or the last rank to come.
  ServeFaults faults = {};
};

/// Popularities [layers, experts] from a step on; null: as before. Equal on all ranks.
using PopularitySource = std::function<const RealLoadMatrix*(std::int64_t step)>;

/// A rank of this process. Several may share a device, whose multiprocessors they divide.
struct ServedRank {
  RankId rank;
  int device = 0;
  std::int32_t ranks_on_device = 1;
};

struct ServeParts {
  group::Membership& membership;
  std::vector<ServedRank> ranks;  ///< Of this process, ascending.
  const Topology& topology;
  const PlacementPolicy& policy;
  std::function<PopularitySource()> popularities;              ///< Called once by each rank.
  std::function<void(std::int64_t steps_done)> progress = {};  ///< By the first rank.
};

/// What one rank did and saw, in figures that travel as they are.
struct RankFigures {
  std::int64_t steps = 0;  ///< Measured ones.

  // Weights, as forwards found them, and as digests did.
  std::int64_t words_checked = 0;
  std::int64_t words_wrong = 0;
  std::int64_t rows_checked = 0;
  std::int64_t rows_wrong = 0;
  std::int64_t maps_checked = 0;
  std::int64_t maps_wrong = 0;
  std::int64_t passes_checked = 0;
  std::int64_t passes_wrong = 0;
  std::int64_t logged_checked = 0;
  std::int64_t calls_replayed = 0;  ///< Of the balancer's, that came again on a fresh one.

  // Cooperative kernels on all multiprocessors, beside which weights moved.
  std::int64_t gangs_ended = 0;
  std::int64_t gangs_ran_out = 0;  ///< 1 if one waited for its own CTAs until its limit.

  std::int64_t hold_count = 0;
  std::int64_t hold_ns = 0;
  std::int64_t barrier_ns = 0;  ///< Waiting for the other ranks, in all.
  std::int64_t on_step_ns = 0;  ///< In the balancer's entry, in all,
  std::int64_t longest_on_step_ns = 0;
  std::int64_t longest_progress_ns = 0;
  std::int64_t forward_ns = 0;  ///< Of the device, in all.
  // What stands between two forwards on the device: closing counts, commits, maps. The time of a
  // mark is taken off, which is an event's behind another.
  std::int64_t mark_ns = 0;
  std::int64_t plain_boundary_count = 0;  ///< Steps that committed nothing,
  std::int64_t plain_boundary_ns = 0;
  std::int64_t busy_boundary_count = 0;  ///< of them, those while a rearrangement ran,
  std::int64_t busy_boundary_ns = 0;
  std::int64_t commit_count = 0;  ///< and steps that committed.
  std::int64_t commit_ns = 0;
  std::int64_t committed_layers = 0;

  std::int64_t weights_bytes = 0;
  std::int64_t landing_bytes = 0;
  std::int64_t maps_bytes = 0;
};

struct BalanceSample {
  std::int64_t step = 0;
  double balancedness = 0;  ///< Of all layers, as RankLoads has it.
  double min_layer = 0;
  bool before_first_commit = false;
  bool after_first_rearrangement = false;
};

struct ServeResult {
  std::vector<RankFigures> ranks;  ///< All of the group.
  std::vector<double> step_ms;     ///< Of the first rank of this process, measured ones.
  std::vector<BalanceSample> balance;
  std::vector<Rearrangement> rearrangements;
  /// Of each: while rows of the first rank of this process were on their way; 0: not known.
  std::vector<std::int64_t> wire_ns;
  double measured_s = 0;
  Failure stop = {};  ///< Why the group ended early; then figures are this process' alone.
};

/// Serves decode steps on GPUs: every rank a thread of this process, its forwards one graph, its
/// balancer beside them. All processes of the group call it together. An error before the first
/// step is the same on every rank as far as ranks can tell each other; what ends the group later is
/// in the result. Throws CudaError.
[[nodiscard]] Result<ServeResult> serve(const ServeOptions& options, const ServeParts& parts);

/// Device memory that a rank needs, landing pool included, to say so before anything is taken.
[[nodiscard]] std::int64_t rank_bytes(const ServeOptions& options);

}  // namespace eplb::gpu
