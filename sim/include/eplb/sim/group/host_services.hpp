#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "eplb/core/env/load_recorder.hpp"
#include "eplb/core/env/map_publisher.hpp"
#include "eplb/core/env/memory.hpp"
#include "eplb/core/env/planner.hpp"
#include "eplb/sim/event_engine.hpp"
#include "eplb/sim/group/group_timing.hpp"
#include "eplb/sim/group/host.hpp"
#include "eplb/sim/group/queue.hpp"
#include "eplb/sim/group/row_store.hpp"
#include "eplb/sim/group/violations.hpp"

namespace eplb::sim {

class SimMemory final : public env::Memory {
 public:
  SimMemory(RowStore& rows, GroupTiming& timing, RankId rank)
      : rows_(rows), timing_(timing), rank_(rank) {}

  [[nodiscard]] Result<void> reserve(const env::MemoryLayout& layout) override;

  void release() override { rows_.release(rank_); }

 private:
  RowStore& rows_;
  GroupTiming& timing_;
  RankId rank_;
};

/// The maps that a rank's forwards look up.
class SimMapPublisher final : public env::MapPublisher {
 public:
  /// Starts with the maps of `initial`, as a loader leaves them.
  SimMapPublisher(SimQueue& forward, GroupTiming& timing, RankId rank, const Placement& initial);

  void publish(LayerId layer, const LayerMap& map, env::PlacementEpoch epoch) override;

  [[nodiscard]] const LayerMap& map(LayerId layer) const { return maps_[layer.index()]; }

  [[nodiscard]] env::PlacementEpoch epoch(LayerId layer) const { return epochs_[layer.index()]; }

  /// Publishes so far, of all layers: tells whether anything has changed.
  [[nodiscard]] std::int64_t change_count() const { return change_count_; }

 private:
  SimQueue& forward_;
  GroupTiming& timing_;
  RankId rank_;
  std::vector<LayerMap> maps_;
  std::vector<env::PlacementEpoch> epochs_;
  std::int64_t change_count_ = 0;
};

/// Counts of a rank's forwards; a pass lands some time after it was closed, in order.
class SimLoadRecorder final : public env::LoadRecorder, private EventHandler {
 public:
  struct Options {
    RankId rank;
    bool counts_here = true;
  };

  SimLoadRecorder(EventEngine& engine, GroupTiming& timing, Host& host, Violations& violations,
                  const Options& options)
      : engine_(engine), timing_(timing), host_(host), violations_(violations), options_(options) {}

  /// Whether the forward that begins now will count.
  [[nodiscard]] bool gate() const { return gate_; }

  /// What the forward that ends has counted: only if its gate was open as it began.
  void count(LoadMatrix logical, LoadMatrix physical);

  [[nodiscard]] bool counts_here() const override { return options_.counts_here; }

  void set_recording(bool recording) override;
  void close_pass(std::int64_t step, env::PassUse use) override;
  [[nodiscard]] const env::RecordedPass* try_take() override;

  /// Every pass of real tokens that was handed out and is to be recorded, oldest first.
  void keep_taken(std::vector<LoadMatrix>* taken) { taken_ = taken; }

 private:
  struct Landing {
    std::int64_t landed_ns;
    env::RecordedPass pass;
  };

  void on_event(const Event& event) override;

  EventEngine& engine_;
  GroupTiming& timing_;
  Host& host_;
  Violations& violations_;
  Options options_;
  bool gate_ = false;
  bool gate_known_ = false;
  std::optional<std::pair<LoadMatrix, LoadMatrix>> pass_;
  std::deque<Landing> landings_;
  env::RecordedPass handed_out_;
  std::vector<LoadMatrix>* taken_ = nullptr;
};

/// Plans of a group's ranks. Equal requests have equal answers, so one is worked out for all.
class SimPlanDesk {
 public:
  using Answer = Result<std::shared_ptr<const MigrationSchedule>>;

  explicit SimPlanDesk(const PlacementPolicy& policy) : policy_(policy) {}

  [[nodiscard]] Answer answer(const PlanRequest& request);

 private:
  const PlacementPolicy& policy_;
  std::optional<PlanRequest> request_;
  std::optional<Answer> answer_;
};

class SimPlanner final : public env::Planner, private EventHandler {
 public:
  SimPlanner(EventEngine& engine, GroupTiming& timing, Host& host, SimPlanDesk& desk, RankId rank)
      : engine_(engine), timing_(timing), host_(host), desk_(desk), rank_(rank) {}

  /// Sees, and may change, what is asked for and what is answered.
  using Inspector = std::function<void(const PlanRequest&, SimPlanDesk::Answer&)>;

  void inspect(Inspector inspector) { inspector_ = std::move(inspector); }

  void submit(PlanRequest request) override;
  [[nodiscard]] std::optional<env::PlanAnswer> poll() override;

 private:
  struct Waiting {
    std::int64_t ready_ns;
    env::PlanAnswer answer;
  };

  void on_event(const Event& /*event*/) override { host_.wake(); }

  EventEngine& engine_;
  GroupTiming& timing_;
  Host& host_;
  SimPlanDesk& desk_;
  RankId rank_;
  Inspector inspector_;
  std::deque<Waiting> waiting_;
};

}  // namespace eplb::sim
