#include "eplb/sim/group/group_trace.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "eplb/core/failure.hpp"

namespace eplb::sim {
namespace {

using env::TraceEvent;

std::string row_name(const RowAddress& row) {
  return row.region == kLandingRegion ? fmt::format("landing row {}", row.row)
                                      : fmt::format("layer {} slot {}", row.region.value, row.row);
}

std::string cause_name(std::int64_t cause) {
  return std::string(to_string(static_cast<FailureCause>(cause)));
}

}  // namespace

TrackId GroupTrace::track(RankId rank, std::string_view name) {
  return timeline_.track(first_process_ + rank.value, fmt::format("{}rank {}", prefix_, rank.value),
                         name);
}

void GroupTrace::forward_ran(RankId rank, const Forward& ran) {
  if (!forwards_shown_) {
    return;
  }
  const TrackId forward = track(rank, "forward");
  const std::int64_t end_ns = engine_.now_ns();
  timeline_.slice(forward, fmt::format("step {}", ran.step), "forward", ran.begin_ns, end_ns,
                  {{"balancedness", fmt::format("{:.4f}", ran.balancedness)}});
  const std::int64_t layers_end_ns = std::min(ran.begin_ns + ran.layers_ns, end_ns);
  timeline_.slice(forward, "expert layers", "forward", ran.begin_ns, layers_end_ns);
  timeline_.slice(forward, "other kernels", "forward", layers_end_ns, end_ns);
}

void GroupTrace::queue_copied(RankId rank, std::string_view queue, std::size_t rows,
                              std::int64_t begin_ns) {
  timeline_.slice(track(rank, queue), fmt::format("{} rows", rows), "copy", begin_ns,
                  engine_.now_ns());
}

void GroupTrace::row_carried(const RowCopy& copy, std::int64_t bytes, std::int64_t begin_ns) {
  const Timeline::Arguments arguments{{"from", row_name(copy.source)},
                                      {"to", row_name(copy.destination)},
                                      {"bytes", std::to_string(bytes)}};
  const std::int64_t end_ns = engine_.now_ns();
  timeline_.slice(track(copy.source.rank, "rows out"),
                  fmt::format("to rank {}", copy.destination.rank.value), "wire", begin_ns, end_ns,
                  arguments);
  timeline_.slice(track(copy.destination.rank, "rows in"),
                  fmt::format("from rank {}", copy.source.rank.value), "wire", begin_ns, end_ns,
                  arguments);
}

void GroupTrace::held(RankId rank, std::int64_t begin_ns) {
  timeline_.slice(track(rank, "host"), "hold", "hold", begin_ns, engine_.now_ns());
}

void GroupTrace::status_posted(RankId rank, std::string_view what) {
  timeline_.instant(track(rank, "statuses"), what, "control", engine_.now_ns());
}

void GroupTrace::rank_lost(RankId rank) {
  timeline_.instant(track(rank, "host"), "lost", "fault", engine_.now_ns());
}

void GroupTrace::enter(RankId rank, std::string_view state) {
  Open& open = open_[rank];
  const std::int64_t now_ns = engine_.now_ns();
  if (open.state.empty()) {
    open.rearrangement_ns = now_ns;
  } else {
    timeline_.slice(track(rank, "balancer"), open.state, "rearrangement", open.begin_ns, now_ns);
  }
  open.state = state;
  open.begin_ns = now_ns;
}

void GroupTrace::leave(RankId rank, const env::TraceRecord& record) {
  enter(rank, "");
  timeline_.slice(track(rank, "balancer"), fmt::format("rearrangement {}", record.subject),
                  "rearrangement", open_[rank].rearrangement_ns, record.time_ns,
                  {{"committed layers", std::to_string(record.value)}});
  open_.erase(rank);
}

void GroupTrace::record(const env::TraceRecord& record) {
  const auto mark = [&](std::string_view where, const std::string& what,
                        std::string_view category) {
    timeline_.instant(track(record.rank, where), what, category, record.time_ns);
  };
  switch (record.event) {
    case TraceEvent::kAggregating:
      enter(record.rank, "aggregating");
      break;
    case TraceEvent::kPlanRequested:
      enter(record.rank, "planning");
      break;
    case TraceEvent::kPlanReady:
      enter(record.rank, "moving");
      break;
    case TraceEvent::kAborting:
      enter(record.rank, "aborting");
      mark("layers", "abort: " + cause_name(record.value), "fault");
      break;
    case TraceEvent::kRearrangementEnd:
      leave(record.rank, record);
      break;
    case TraceEvent::kTransferStarted:
      mark("layers", fmt::format("layer {} started, {} copies", record.subject, record.value),
           "layer");
      break;
    case TraceEvent::kLayerLanded:
      mark("layers", fmt::format("layer {} landed", record.subject), "layer");
      break;
    case TraceEvent::kCommit:
      mark("commits", fmt::format("layer {}", record.subject), "commit");
      break;
    case TraceEvent::kLayerRetired:
      mark("layers", fmt::format("layer {} retired", record.subject), "layer");
      break;
    case TraceEvent::kFailure:
      mark("host", cause_name(record.subject), "fault");
      break;
    case TraceEvent::kStep:
    case TraceEvent::kRecording:
    case TraceEvent::kPlanSkipped:
    case TraceEvent::kBalancedness:
      break;
  }
}

}  // namespace eplb::sim
