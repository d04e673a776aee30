#pragma once

#include <cstdint>

#include "eplb/core/digest.hpp"
#include "eplb/core/env/clock.hpp"
#include "eplb/core/env/trace_sink.hpp"
#include "eplb/sim/event_engine.hpp"

namespace eplb::sim {

class SimClock final : public env::Clock {
 public:
  explicit SimClock(const EventEngine& engine) : engine_(engine) {}

  [[nodiscard]] std::int64_t now_ns() const override { return engine_.now_ns(); }

 private:
  const EventEngine& engine_;
};

/// Folds every record into one number: two runs are alike if and only if their digests are.
class DigestSink : public env::TraceSink {
 public:
  void record(const env::TraceRecord& record) override;

  void add(std::int64_t value) { digest_.add(value); }

  [[nodiscard]] std::uint64_t value() const { return digest_.value(); }

 private:
  Digest digest_;
};

}  // namespace eplb::sim
