#include <map>
#include <utility>

#include "dealt_forward.hpp"
#include "eplb/core/env/fault_points.hpp"
#include "eplb/group/recording.hpp"
#include "eplb/sim/group/group.hpp"
#include "fixed_timing.hpp"
#include "world.hpp"

namespace eplb::test {
namespace {

constexpr std::int64_t kForwardNs = 100'000;

/// Of simulated time, for a run: several of any case's deadlines.
constexpr std::int64_t kStuckNs = 60'000'000'000;

class NoTrace final : public env::TraceSink {
 public:
  void record(const env::TraceRecord& /*record*/) override {}
};

/// The simulated group, with durations that do not vary.
class SimulatedWorld final : public World, private sim::Serving {
 public:
  explicit SimulatedWorld(const WorldOptions& options) : options_(options) {
    const std::int32_t rank_count = options.settings.shape.rank_count;
    const std::vector<env::FaultPoints*> fault_points(static_cast<std::size_t>(rank_count),
                                                      &no_fault_points_);
    Serving& serving = *this;
    timing_.refusing_memory = options.memory_refused;
    group_ = std::make_unique<sim::SimGroup>(
        sim::SimGroup::World{.engine = engine_,
                             .timing = timing_,
                             .carrier = carrier_,
                             .violations = violations_,
                             .trace_sink = trace_sink_,
                             .policy = *options.policy,
                             .serving = serving},
        sim::SimGroup::Options{.rank_count = rank_count, .traits = {.side = options.side}},
        Placement::initial(options.settings.shape), fault_points);
    for (std::int32_t rank = 0; rank < rank_count; ++rank) {
      recordings_.push_back(
          std::make_unique<group::Recording>(group_->rank(RankId{rank}).environment()));
    }
  }

  [[nodiscard]] bool can_transfer(env::TransferSide /*side*/) const override { return true; }

  [[nodiscard]] Result<void> start() override {
    Result<void> result;
    for (std::int32_t rank = 0; rank < group_->rank_count(); ++rank) {
      auto balancer = recordings_[RankId{rank}.index()]->create(options_.settings);
      if (balancer) {
        group_->rank(RankId{rank}).attach(std::move(*balancer));
      } else if (result) {
        result = tl::unexpected(balancer.error());
      }
    }
    group_->load_weights(Placement::initial(options_.settings.shape), 0);
    return result;
  }

  [[nodiscard]] bool run(std::int64_t forwards) override {
    for (std::int64_t forward = 0; forward < forwards; ++forward) {
      if (!run_one()) {
        return false;
      }
    }
    return true;
  }

  void with_balancer(RankId rank, const std::function<void(Balancer&)>& look) override {
    look(group_->rank(rank).balancer());
  }

  void with_calls(RankId rank,
                  const std::function<void(const group::RecordedCalls&)>& look) override {
    look(recordings_[rank.index()]->calls());
  }

  [[nodiscard]] bool holds(LayerId layer, SlotId slot, LogicalExpertId expert) override {
    settle();
    const std::int32_t slots = options_.settings.shape.slots_per_rank();
    return group_->rows().content({.region = weights_region(layer),
                                   .rank = RankId{slot.value / slots},
                                   .row = slot.value % slots}) ==
           sim::RowContent{.layer = layer.value, .expert = expert.value};
  }

  [[nodiscard]] std::optional<LayerMap> map(RankId rank, LayerId layer) override {
    settle();
    return group_->rank(rank).maps().map(layer);
  }

  [[nodiscard]] std::optional<Failure> stop_reason(RankId rank) override {
    const auto found = stopped_.find(rank);
    return found == stopped_.end() ? std::nullopt : std::optional(found->second);
  }

  [[nodiscard]] std::vector<std::string> faults() override {
    std::vector<std::string> faults;
    for (const sim::Violation& violation : violations_.list()) {
      faults.push_back(violation.what);
    }
    return faults;
  }

  void drain() override {
    each([](group::Recording& recording, Balancer& balancer) {
      recording.drain(balancer);
      return Result<void>();
    });
  }

  void resume() override {
    each([](group::Recording& recording, Balancer& balancer) {
      recording.resume(balancer);
      return Result<void>();
    });
  }

  [[nodiscard]] Result<void> release_memory() override {
    settle();
    return each([](group::Recording& recording, Balancer& balancer) {
      return recording.release_memory(balancer);
    });
  }

  [[nodiscard]] Result<void> reserve_memory() override {
    auto reserved = each([](group::Recording& recording, Balancer& balancer) {
      return recording.reserve_memory(balancer);
    });
    group_->load_weights(group_->rank(RankId{0}).balancer().placement(), 0);
    return reserved;
  }

  void break_transfers(std::optional<RankId> from) override {
    timing_.transfer_fails = [from](const RowCopy& copy) { return copy.source.rank == from; };
  }

  void break_commits(RankId rank) override {
    timing_.local_copy_fails = [rank](const RowCopy& copy) {
      return copy.destination.rank == rank && copy.source.region == kLandingRegion;
    };
  }

  void break_plans(RankId rank, bool broken) override {
    group_->rank(rank).planner().inspect(
        !broken ? sim::SimPlanner::Inspector()
                : [](const PlanRequest& /*request*/, sim::SimPlanDesk::Answer& answer) {
                    answer = fail(ErrorCode::kInternal, "told to fail");
                  });
  }

  void lose(RankId rank) override { group_->rank(rank).lose(); }

 private:
  [[nodiscard]] std::int32_t lost_count() const {
    std::int32_t count = 0;
    for (std::int32_t rank = 0; rank < group_->rank_count(); ++rank) {
      count += group_->rank(RankId{rank}).lost() ? 1 : 0;
    }
    return count;
  }

  [[nodiscard]] bool run_one() {
    proceeded_ = 0;
    group_->resume();
    const std::int64_t end_ns = engine_.now_ns() + kStuckNs;
    const auto ended = [&] {
      return proceeded_ + static_cast<std::int32_t>(stopped_.size()) + lost_count() ==
             group_->rank_count();
    };
    while (!ended()) {
      if (engine_.now_ns() > end_ns || !engine_.run_next()) {
        return false;
      }
    }
    return true;
  }

  /// Lets what the forward queues have been given run, as far as it does without a forward.
  void settle() {
    constexpr std::int64_t kSettledNs = 1'000'000;
    const std::int64_t end_ns = engine_.now_ns() + kSettledNs;
    while (engine_.now_ns() < end_ns && engine_.run_next()) {
    }
  }

  void forward_ready() override {
    const Shape& shape = options_.settings.shape;
    for (std::int32_t index = 0; index < shape.rank_count; ++index) {
      sim::SimRank& rank = group_->rank(RankId{index});
      DealtForward dealt =
          deal_forward(options_.tokens(RankId{index}, forwards_), shape, RankId{index},
                       [&](LayerId layer) -> const LayerMap& { return rank.maps().map(layer); });
      check_slots(dealt.experts);
      if (rank.recorder().gate()) {
        rank.recorder().count(std::move(dealt.logical), std::move(dealt.physical));
      }
    }
    group_->begin_forward(kForwardNs);
  }

  void check_slots(const LoadMatrix& experts) {
    const std::int32_t slots = options_.settings.shape.slots_per_rank();
    for (std::int32_t layer = 0; layer < experts.rows(); ++layer) {
      for (std::int32_t slot = 0; slot < experts.cols(); ++slot) {
        const auto expert = static_cast<std::int32_t>(experts(layer, slot));
        const RowAddress row{.region = weights_region(LayerId{layer}),
                             .rank = RankId{slot / slots},
                             .row = slot % slots};
        if (expert >= 0 &&
            group_->rows().content(row) != sim::RowContent{.layer = layer, .expert = expert}) {
          violations_.add(engine_.now_ns(), "forward " + std::to_string(forwards_) + ": layer " +
                                                std::to_string(layer) + " slot " +
                                                std::to_string(slot) + " does not hold expert " +
                                                std::to_string(expert));
        }
      }
    }
  }

  void end_forward() override { ++forwards_; }

  [[nodiscard]] StepKind kind_of(RankId rank) override {
    return options_.kind(rank, forwards_ - 1);
  }

  [[nodiscard]] bool proceeds(RankId /*rank*/) override {
    ++proceeded_;
    return false;
  }

  void stopped(RankId rank) override {
    stopped_.emplace(rank, group_->rank(rank).balancer().stop_reason());
  }

  template <typename Act>
  Result<void> each(const Act& act) {
    Result<void> result;
    for (std::int32_t rank = 0; rank < group_->rank_count(); ++rank) {
      auto acted = act(*recordings_[RankId{rank}.index()], group_->rank(RankId{rank}).balancer());
      result = result.has_value() ? std::move(acted) : std::move(result);
    }
    return result;
  }

  WorldOptions options_;
  sim::EventEngine engine_;
  FixedTiming timing_;
  sim::FlightCarrier carrier_{engine_, timing_};
  sim::Violations violations_;
  NoTrace trace_sink_;
  env::NoFaultPoints no_fault_points_;
  std::vector<std::unique_ptr<group::Recording>> recordings_;  ///< By rank.
  std::unique_ptr<sim::SimGroup> group_;  ///< Last, since its balancers use the recordings.
  std::int64_t forwards_ = 0;
  std::int32_t proceeded_ = 0;
  std::map<RankId, Failure> stopped_;
};

}  // namespace

std::unique_ptr<World> make_world(const WorldOptions& options) {
  return std::make_unique<SimulatedWorld>(options);
}

}  // namespace eplb::test
