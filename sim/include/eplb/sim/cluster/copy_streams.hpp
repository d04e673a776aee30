#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "eplb/sim/cluster/flow_network.hpp"
#include "eplb/sim/event_engine.hpp"
#include "eplb/sim/group/carrier.hpp"

namespace eplb::sim {

/// One copy as a GPU sees it.
struct CopyJob {
  Demand demand;  ///< Of a byte.
  std::int64_t bytes = 0;
  std::int64_t issued_ns = 0;   ///< When the host has issued it.
  std::int64_t latency_ns = 0;  ///< Paid only if its stream is idle then: else it is hidden.
  std::int64_t start_ns = 0;    ///< On the engine before its bytes flow: set-up of all its parts.
  bool needs_engine = true;     ///< A kernel's copies and the network's need none.
  CarrierClient* client = nullptr;
  std::int64_t token = 0;
};

/// A GPU's streams of copies and the copy engines that they share: a stream's copies run one after
/// another, each takes the next free engine for as long as it lasts.
class CopyStreams final : private FlowOwner, private EventHandler {
 public:
  CopyStreams(EventEngine& engine, FlowNetwork& network, std::int32_t stream_count,
              std::int32_t copy_engines)
      : engine_(engine),
        network_(network),
        free_engines_(copy_engines),
        streams_(static_cast<std::size_t>(stream_count)) {}

  void append(std::size_t stream, CopyJob job);

 private:
  enum class State : std::uint8_t { kIdle, kIssuing, kWaitingForEngine, kStarting, kFlowing };

  struct Stream {
    std::deque<CopyJob> jobs;  ///< The front one is under way.
    State state = State::kIdle;
  };

  void on_event(const Event& event) override;
  void flow_ended(std::int64_t token) override;
  void begin(std::size_t stream, bool was_idle);
  void take_engine(std::size_t stream);
  void start_up(std::size_t stream);

  EventEngine& engine_;
  FlowNetwork& network_;
  std::int32_t free_engines_;
  std::deque<std::size_t> waiting_;  ///< Streams whose front copy has no engine yet.
  std::vector<Stream> streams_;
};

}  // namespace eplb::sim
