#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "eplb/core/balancer.hpp"
#include "eplb/sim/group/group.hpp"
#include "fixed_timing.hpp"

namespace eplb::test {

/// A record, and how many forwards had ended when it was made.
struct Traced {
  std::int64_t step;
  env::TraceRecord record;
};

/// Serves with real balancers, one a rank: all forwards are of one length, every record is kept,
/// and before every forward all slots and maps of all ranks are looked at.
class ServedGroup final : private sim::Serving {
 public:
  struct Options {
    Balancer::Settings settings;
    env::TransportTraits traits = {};
    bool one_rank_counts = false;
    std::int64_t forward_ns = 100'000;
  };

  ServedGroup(Options options, const PlacementPolicy& policy);
  ServedGroup(const ServedGroup&) = delete;
  ServedGroup& operator=(const ServedGroup&) = delete;
  ServedGroup(ServedGroup&&) = delete;
  ServedGroup& operator=(ServedGroup&&) = delete;
  ~ServedGroup() override;

  /// Until so many forwards have ended in all, or the group has, or a simulated second has passed
  /// without one.
  void serve_until(std::int64_t steps);

  /// Until rank 0 has ended so many rearrangements in all; false if `steps_max` more steps do not
  /// suffice.
  [[nodiscard]] bool rearrange_until(std::size_t rearrangements, std::int64_t steps_max);

  /// Tokens of a rank in a step, [layers, experts]; one for every expert unless set.
  std::function<LoadMatrix(RankId rank, std::int64_t step)> tokens;

  /// Whether a fault point fires on a rank; never unless set.
  std::function<bool(RankId rank, env::FaultPoint point)> fires;

  [[nodiscard]] FixedTiming& timing() { return timing_; }

  [[nodiscard]] sim::SimGroup& group() { return *group_; }

  [[nodiscard]] Balancer& balancer(std::int32_t rank) {
    return group_->rank(RankId{rank}).balancer();
  }

  /// Forwards that have ended.
  [[nodiscard]] std::int64_t steps() const { return steps_; }

  /// Why each rank has stopped, by rank.
  [[nodiscard]] const std::map<std::int32_t, Failure>& stopped_ranks() const { return stopped_; }

  /// Records of one kind, by rank, in order.
  [[nodiscard]] std::vector<Traced> records(std::int32_t rank, env::TraceEvent event) const;

  /// Step of the newest such record; -1 if there is none.
  [[nodiscard]] std::int64_t last_step(std::int32_t rank, env::TraceEvent event) const;

  /// What was wrong in front of a forward or while rows moved; empty if nothing ever was.
  [[nodiscard]] std::vector<std::string> faults() const;

 private:
  class Faults;
  class Trace;

  void forward_ready() override;
  void end_forward() override;

  [[nodiscard]] StepKind kind_of(RankId /*rank*/) override { return StepKind::kReal; }

  [[nodiscard]] bool proceeds(RankId /*rank*/) override { return true; }

  void stopped(RankId rank) override;
  void look_at(LayerId layer);

  Options options_;
  sim::EventEngine engine_;
  FixedTiming timing_;
  sim::FlightCarrier carrier_{engine_, timing_};
  sim::Violations violations_;
  std::vector<Traced> trace_;
  std::unique_ptr<Trace> sink_;
  std::vector<std::unique_ptr<Faults>> fault_points_;
  std::unique_ptr<sim::SimGroup> group_;
  bool begun_ = false;
  std::int64_t steps_ = 0;
  std::int64_t waiting_since_ns_ = 0;
  std::map<std::int32_t, Failure> stopped_;
};

/// Settings of a group with rows of 1000 bytes, that plans from one part of its window.
[[nodiscard]] Balancer::Settings settings_of(const Shape& shape, EplbOptions options);

}  // namespace eplb::test
