#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "eplb/core/env/transport.hpp"
#include "eplb/core/options.hpp"
#include "eplb/core/shape.hpp"

namespace eplb::sim {

/// How often something happens: n times out of 1000. No floating point decides what a seed means.
struct PerMille {
  std::int32_t value = 0;
};

/// Delays of one kind: most are short, some are long.
struct DelayRange {
  std::int64_t least_ns = 0;
  std::int64_t most_ns = 0;
  std::int64_t tail_ns = 0;  ///< The longest of the rare long ones; 0: there are none.
  PerMille tail = {};
};

/// A rank, and the step in which it happens to it.
struct RankEvent {
  std::int32_t rank = 0;
  std::int64_t step = 0;
};

/// The group becomes another size after a step.
struct SizeChange {
  std::int64_t step = 0;
  std::int32_t ranks = 0;
};

/// How the tokens fall.
enum class TrialLoad : std::uint8_t {
  kSpread,     ///< Random, over all experts.
  kSwitching,  ///< A hot expert a layer, another one every few steps.
  kOneExpert,  ///< All tokens on one expert.
  kNone,       ///< No token at all.
  kHuge,       ///< Counts near 2^31.
};

/// All that one trial of the core is: drawn from its seed, and printed, so that whoever reads a
/// failure sees which world it happened in. Each kind of fault is in some worlds only, so that one
/// does not hide another.
struct Swarm {
  std::uint64_t seed = 0;

  // The group and its options.
  Shape shape;
  EplbOptions eplb;
  env::TransportTraits transport;
  std::vector<std::int64_t> row_bytes;

  // What is served.
  TrialLoad load = TrialLoad::kSpread;
  std::int64_t fault_steps = 0;    ///< With faults.
  std::int32_t profile_steps = 0;  ///< Before the first.
  PerMille dummy;                  ///< Steps of a rank without requests.
  std::vector<SizeChange> sizes;
  std::optional<std::int64_t> sleep_step;

  // How long things take.
  DelayRange message;
  DelayRange transfer;
  DelayRange local_copy;
  DelayRange read_back;
  DelayRange plan;
  DelayRange host;
  DelayRange poll;

  // What goes wrong.
  PerMille repeated_message;
  PerMille failed_transfer;
  PerMille refused_transfer;
  std::int32_t slow_links = 0;             ///< Links that stop for a while, each at its own time.
  std::optional<RankEvent> stalled_host;   ///< For longer than the deadline.
  std::optional<RankEvent> dead_helper;    ///< Nobody calls progress from then on.
  std::optional<RankEvent> failed_commit;  ///< The rank's first commit copy from then on fails.
  std::optional<RankEvent> lost_rank;
  std::optional<RankEvent> refused_plan;    ///< The rank's policy fails; `step` is a rearrangement.
  std::optional<RankEvent> different_plan;  ///< The rank plans something else.
  std::optional<std::int32_t> refused_memory;  ///< A rank.
  std::uint32_t fault_points = 0;              ///< Bit i: env::FaultPoint i is active.

  /// Whether what goes wrong may end the group, as it must.
  [[nodiscard]] bool may_end() const;

  /// Whether anything at all is meant to go wrong or come late.
  [[nodiscard]] bool calm() const;
};

[[nodiscard]] Swarm draw_swarm(std::uint64_t seed);

/// One `name: value` a line.
[[nodiscard]] std::string describe(const Swarm& swarm);

}  // namespace eplb::sim
