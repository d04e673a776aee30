#pragma once

#include <cstdint>

#include "eplb/core/ids.hpp"

namespace eplb::env {

enum class TraceEvent : std::uint8_t {
  kStep,              ///< subject: step, value: its decision (0 proceed, 1 hold, 2 stop).
  kRecording,         ///< value: the gate's new state.
  kAggregating,       ///< subject: rearrangement.
  kPlanRequested,     ///< subject: rearrangement.
  kPlanSkipped,       ///< subject: rearrangement; there was no load to plan on.
  kPlanReady,         ///< subject: rearrangement, value: digest of the schedule.
  kTransferStarted,   ///< subject: layer, value: copies that this rank started.
  kLayerLanded,       ///< subject: layer; this rank's part of it.
  kCommit,            ///< subject: layer, value: epoch.
  kLayerRetired,      ///< subject: layer; its landing rows are empty on this rank.
  kFailure,           ///< subject: FailureCause, value: rank that it names.
  kAborting,          ///< subject: rearrangement, value: FailureCause.
  kRearrangementEnd,  ///< subject: rearrangement, value: layers committed.
  kBalancedness,      ///< subject: step, value: millionths.
};

struct TraceRecord {
  std::int64_t time_ns;
  RankId rank;
  TraceEvent event;
  std::int64_t subject;
  std::int64_t value;
};

/// What happened, in order: a digest and a log in the simulator, a ring on a GPU.
class TraceSink {
 public:
  TraceSink() = default;
  TraceSink(const TraceSink&) = delete;
  TraceSink& operator=(const TraceSink&) = delete;
  TraceSink(TraceSink&&) = delete;
  TraceSink& operator=(TraceSink&&) = delete;
  virtual ~TraceSink() = default;

  virtual void record(const TraceRecord& record) = 0;
};

}  // namespace eplb::env
