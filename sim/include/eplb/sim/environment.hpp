#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "eplb/core/digest.hpp"
#include "eplb/core/env/environment.hpp"
#include "eplb/core/placement.hpp"
#include "eplb/core/topology.hpp"
#include "eplb/sim/event_engine.hpp"
#include "eplb/sim/options.hpp"

// The simulated side of core's environment, each class behind the interface of the same noun.
// What takes time notes when it will be done and has the engine wake the run at that moment.

namespace eplb::sim {

class SimClock final : public env::Clock {
 public:
  explicit SimClock(const EventEngine& engine) : engine_(engine) {}

  [[nodiscard]] std::int64_t now_ns() const override { return engine_.now_ns(); }

 private:
  const EventEngine& engine_;
};

/// Counts of the whole group, on one rank, landed as soon as the pass is closed.
class SimLoadRecorder final : public env::LoadRecorder {
 public:
  /// What the running forward counts; the run calls it once a forward.
  void count(const LoadMatrix& counts);

  void set_recording(bool recording) override { recording_ = recording; }

  void close_pass(bool keep) override;

  [[nodiscard]] const LoadMatrix* try_take() override;

 private:
  bool recording_ = false;
  LoadMatrix pass_;
  bool pass_counted_ = false;
  bool landed_ = false;
};

/// Runs the policy at once and hands its plan out after the time that a host would need.
class SimPlanner final : public env::Planner {
 public:
  struct Options {
    double plan_us_per_layer = 0;
  };

  SimPlanner(EventEngine& engine, EventHandler& wake, const PlacementPolicy& policy,
             const Options& options)
      : engine_(engine), wake_(wake), policy_(policy), options_(options) {}

  void submit(const PolicyProblem& problem) override;

  [[nodiscard]] std::optional<Result<Placement>> poll() override;

 private:
  EventEngine& engine_;
  EventHandler& wake_;
  const PlacementPolicy& policy_;
  Options options_;
  std::int64_t ready_ns_ = 0;
  std::optional<Result<Placement>> plan_;
};

/// Transfers without a protocol: every rank sends and receives its copies one after another, all
/// ranks at once, and a layer has landed when the busiest port is done. Layers follow each other.
class PlainTransport final : public env::Transport {
 public:
  struct Options {
    std::int64_t bytes_per_expert = 0;
    std::int32_t tensors_per_expert = 1;  ///< Each tensor is a copy of its own.
    std::int32_t slots_per_rank = 1;
    HardwareOptions hardware;
  };

  PlainTransport(EventEngine& engine, EventHandler& wake, const Topology& topology, Options options)
      : engine_(engine), wake_(wake), topology_(topology), options_(std::move(options)) {}

  [[nodiscard]] env::Ticket start(const LayerMigration& layer) override;

  [[nodiscard]] bool has_landed(env::Ticket ticket) const override;

  /// Time in which rows were on their way, summed over layers.
  [[nodiscard]] std::int64_t wire_ns() const { return wire_ns_; }

 private:
  [[nodiscard]] std::int64_t duration_ns(const LayerMigration& layer) const;

  EventEngine& engine_;
  EventHandler& wake_;
  const Topology& topology_;
  Options options_;
  std::vector<std::int64_t> landed_ns_;  ///< By ticket, ascending.
  std::int64_t wire_ns_ = 0;
};

/// The maps that forwards look up.
class SimMapPublisher final : public env::MapPublisher {
 public:
  explicit SimMapPublisher(const Placement& initial);

  void publish(LayerId layer, const LayerMap& map, env::PlacementEpoch epoch) override;

  [[nodiscard]] const LayerMap& map(LayerId layer) const { return maps_[layer.index()]; }

 private:
  std::vector<LayerMap> maps_;
};

/// Folds every record into one number: two runs are alike if and only if their digests are.
class DigestSink final : public env::TraceSink {
 public:
  void record(const env::TraceRecord& record) override;

  void add(std::int64_t value) { digest_.add(value); }

  [[nodiscard]] std::uint64_t value() const { return digest_.value(); }

 private:
  Digest digest_;
};

}  // namespace eplb::sim
