#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <vector>

#include "eplb/core/env/load_recorder.hpp"
#include "eplb/core/env/map_publisher.hpp"
#include "eplb/core/env/memory.hpp"
#include "eplb/core/policy.hpp"
#include "eplb/group/monotonic_clock.hpp"
#include "host_rows.hpp"
#include "worker_queue.hpp"

namespace eplb::test {

class HostMemory final : public env::Memory {
 public:
  HostMemory(HostRows& rows, RankId rank) : rows_(rows), rank_(rank) {}

  [[nodiscard]] Result<void> reserve(const env::MemoryLayout& layout) override {
    if (refuses) {
      return fail(ErrorCode::kResourceExhausted, "no memory is left here");
    }
    rows_.reserve(rank_, layout);
    return {};
  }

  void release() override { rows_.release(rank_); }

  bool refuses = false;

 private:
  HostRows& rows_;
  RankId rank_;
};

/// Real counts of a rank's forwards, read back a little later, in order.
class HostLoadRecorder final : public env::LoadRecorder {
 public:
  explicit HostLoadRecorder(std::uint64_t seed) : random_(seed) {}

  /// Whether the forward that begins now counts.
  [[nodiscard]] bool gate() const { return gate_; }

  /// What the forward that has just ended has counted.
  void count(LoadMatrix logical, LoadMatrix physical);

  [[nodiscard]] bool counts_here() const override { return true; }

  void set_recording(bool recording) override { gate_ = recording; }

  void close_pass(std::int64_t step, env::PassUse use) override;
  [[nodiscard]] const env::RecordedPass* try_take() override;

 private:
  struct Landing {
    std::int64_t landed_ns;
    env::RecordedPass pass;
  };

  group::MonotonicClock clock_;
  std::uint64_t random_;
  bool gate_ = false;
  env::RecordedPass open_;
  std::deque<Landing> landings_;
  env::RecordedPass taken_;
};

/// The maps that a rank's forwards look up: written by its forward queue, between them.
class HostMaps final : public env::MapPublisher {
 public:
  HostMaps(WorkerQueue& forward, const Placement& initial);

  void publish(LayerId layer, const LayerMap& map, env::PlacementEpoch epoch) override;

  /// For the forward queue's thread.
  [[nodiscard]] const LayerMap& map(LayerId layer) const { return maps_[layer.index()]; }

 private:
  WorkerQueue& forward_;
  std::vector<LayerMap> maps_;
};

/// The group's policy as one rank knows it: where it is told so it fails.
class RankPolicy final : public PlacementPolicy {
 public:
  explicit RankPolicy(const PlacementPolicy& policy) : policy_(policy) {}

  [[nodiscard]] std::string_view name() const override { return policy_.name(); }

  [[nodiscard]] Result<Placement> place(const PolicyProblem& problem) const override {
    if (fails) {
      return fail(ErrorCode::kInternal, "told to fail");
    }
    return policy_.place(problem);
  }

  std::atomic<bool> fails = false;

 private:
  const PlacementPolicy& policy_;
};

}  // namespace eplb::test
