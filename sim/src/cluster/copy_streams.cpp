#include "eplb/sim/cluster/copy_streams.hpp"

#include <algorithm>
#include <utility>

namespace eplb::sim {

void CopyStreams::append(std::size_t stream, CopyJob job) {
  streams_[stream].jobs.push_back(std::move(job));
  if (streams_[stream].state == State::kIdle) {
    begin(stream, true);
  }
}

void CopyStreams::begin(std::size_t stream, bool was_idle) {
  Stream& of = streams_[stream];
  const CopyJob& job = of.jobs.front();
  const std::int64_t ready_ns = std::max(job.issued_ns, engine_.now_ns());
  // A stream that the host has not kept busy starts from rest.
  const bool from_rest = was_idle || job.issued_ns > engine_.now_ns();
  of.state = State::kIssuing;
  engine_.schedule(ready_ns + (from_rest ? job.latency_ns : 0), Phase::kCompletion, *this,
                   static_cast<std::int64_t>(stream));
}

void CopyStreams::on_event(const Event& event) {
  const auto stream = static_cast<std::size_t>(event.argument);
  Stream& of = streams_[stream];
  if (of.state == State::kIssuing) {
    take_engine(stream);
    return;
  }
  of.state = State::kFlowing;
  CopyJob& job = of.jobs.front();
  network_.start(std::move(job.demand), static_cast<double>(job.bytes), 0, *this, event.argument);
}

void CopyStreams::take_engine(std::size_t stream) {
  Stream& of = streams_[stream];
  if (of.jobs.front().needs_engine) {
    if (free_engines_ == 0) {
      of.state = State::kWaitingForEngine;
      waiting_.push_back(stream);
      return;
    }
    --free_engines_;
  }
  start_up(stream);
}

void CopyStreams::start_up(std::size_t stream) {
  streams_[stream].state = State::kStarting;
  engine_.schedule(engine_.now_ns() + streams_[stream].jobs.front().start_ns, Phase::kCompletion,
                   *this, static_cast<std::int64_t>(stream));
}

void CopyStreams::flow_ended(std::int64_t token) {
  const auto stream = static_cast<std::size_t>(token);
  Stream& of = streams_[stream];
  const CopyJob job = std::move(of.jobs.front());
  of.jobs.pop_front();
  of.state = State::kIdle;
  if (job.needs_engine) {
    if (waiting_.empty()) {
      ++free_engines_;
    } else {
      const std::size_t next = waiting_.front();
      waiting_.pop_front();
      start_up(next);
    }
  }
  if (!of.jobs.empty()) {
    begin(stream, false);
  }
  job.client->row_carried(job.token, false);
}

}  // namespace eplb::sim
