#pragma once

#include "eplb/core/env/clock.hpp"
#include "eplb/core/env/control_plane.hpp"
#include "eplb/core/env/fault_points.hpp"
#include "eplb/core/env/load_recorder.hpp"
#include "eplb/core/env/map_publisher.hpp"
#include "eplb/core/env/memory.hpp"
#include "eplb/core/env/planner.hpp"
#include "eplb/core/env/queue.hpp"
#include "eplb/core/env/trace_sink.hpp"
#include "eplb/core/env/transport.hpp"

namespace eplb::env {

/// The world as one rank's balancer sees it. Handed in when the balancer is made, and must outlive
/// it.
struct Environment {
  Clock& clock;
  Queues queues;
  Memory& memory;
  Transport& transport;
  ControlPlane& control_plane;
  LoadRecorder& load_recorder;
  MapPublisher& map_publisher;
  Planner& planner;
  TraceSink& trace_sink;
  FaultPoints& fault_points;
};

}  // namespace eplb::env
