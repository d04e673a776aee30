#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "eplb/core/env/trace_sink.hpp"
#include "eplb/core/row_address.hpp"
#include "eplb/sim/event_engine.hpp"
#include "eplb/sim/timeline.hpp"

namespace eplb::sim {

/// A group's life on a timeline: every rank is a process, with tracks for its forwards, its queues,
/// its rows on the wire, its host and its balancer.
class GroupTrace {
 public:
  /// Ranks are processes from `first_process` on, whose names begin with `prefix`.
  GroupTrace(const EventEngine& engine, Timeline& timeline, std::int32_t first_process,
             std::string_view prefix)
      : engine_(engine), timeline_(timeline), first_process_(first_process), prefix_(prefix) {}

  /// Forwards are many and alike, so whoever runs them says which are shown.
  void show_forwards(bool shown) { forwards_shown_ = shown; }

  struct Forward {
    std::int64_t step = 0;
    std::int64_t begin_ns = 0;
    std::int64_t layers_ns = 0;  ///< Of its time, all expert layers together.
    double balancedness = 0;
  };

  /// A forward ends now. Its expert layers are drawn in one piece in front of the other kernels.
  void forward_ran(RankId rank, const Forward& forward);
  void queue_copied(RankId rank, std::string_view queue, std::size_t rows, std::int64_t begin_ns);
  void row_carried(const RowCopy& copy, std::int64_t bytes, std::int64_t begin_ns);
  void held(RankId rank, std::int64_t begin_ns);
  void status_posted(RankId rank, std::string_view what);
  void rank_lost(RankId rank);

  /// What a balancer records.
  void record(const env::TraceRecord& record);

 private:
  /// A state of a rank's migration that has begun and not ended.
  struct Open {
    std::string_view state;
    std::int64_t begin_ns = 0;
    std::int64_t rearrangement_ns = 0;  ///< When the whole began.
  };

  [[nodiscard]] TrackId track(RankId rank, std::string_view name);
  void enter(RankId rank, std::string_view state);
  void leave(RankId rank, const env::TraceRecord& record);

  const EventEngine& engine_;
  Timeline& timeline_;
  std::int32_t first_process_;
  std::string prefix_;
  bool forwards_shown_ = true;
  std::map<RankId, Open> open_;
};

/// Passes on what a balancer records, and shows it.
class TracedSink final : public env::TraceSink {
 public:
  /// `trace` may be null.
  TracedSink(env::TraceSink& next, GroupTrace* trace) : next_(next), trace_(trace) {}

  void record(const env::TraceRecord& record) override {
    next_.record(record);
    if (trace_ != nullptr) {
      trace_->record(record);
    }
  }

 private:
  env::TraceSink& next_;
  GroupTrace* trace_;
};

}  // namespace eplb::sim
