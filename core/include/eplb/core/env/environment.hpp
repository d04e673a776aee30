#pragma once

#include "eplb/core/env/clock.hpp"
#include "eplb/core/env/load_recorder.hpp"
#include "eplb/core/env/map_publisher.hpp"
#include "eplb/core/env/planner.hpp"
#include "eplb/core/env/trace_sink.hpp"
#include "eplb/core/env/transport.hpp"

namespace eplb::env {

/// The world as a balancer sees it. Handed in when the balancer is made, and must outlive it.
struct Environment {
  Clock& clock;
  LoadRecorder& load_recorder;
  Planner& planner;
  Transport& transport;
  MapPublisher& map_publisher;
  TraceSink& trace_sink;
};

}  // namespace eplb::env
