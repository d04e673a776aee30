#pragma once

#include <cstdint>

namespace eplb::env {

enum class TraceEvent : std::uint8_t {
  kStep,              ///< subject: step, value: its decision (0 proceed, 1 hold).
  kRecording,         ///< value: the gate's new state.
  kPlanRequested,     ///< subject: step.
  kPlanSkipped,       ///< subject: step; there was no load to plan on.
  kPlanFailed,        ///< subject: step, value: error code.
  kPlanReady,         ///< subject: step, value: digest of the migration plan.
  kTransferStarted,   ///< subject: layer, value: rows across ranks.
  kTransferLanded,    ///< subject: layer.
  kCommit,            ///< subject: layer, value: epoch.
  kRearrangementEnd,  ///< subject: step, value: rows moved across ranks.
};

struct TraceRecord {
  std::int64_t time_ns;
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
