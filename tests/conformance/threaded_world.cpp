#include <utility>

#include "host_group.hpp"
#include "world.hpp"

namespace eplb::test {
namespace {

/// Threads of this process, with real bytes and a real board.
class ThreadedWorld final : public World {
 public:
  explicit ThreadedWorld(const WorldOptions& options)
      : options_(options),
        group_({.settings = options.settings,
                .side = options.side,
                .tokens = options.tokens,
                .kind = options.kind,
                .memory_refused = options.memory_refused},
               *options.policy) {}

  [[nodiscard]] bool can_transfer(env::TransferSide /*side*/) const override { return true; }

  [[nodiscard]] Result<void> start() override { return group_.start(); }

  [[nodiscard]] bool run(std::int64_t forwards) override { return group_.run(forwards); }

  void with_balancer(RankId rank, const std::function<void(Balancer&)>& look) override {
    group_.rank(rank).thread().with_balancer(look);
  }

  void with_calls(RankId rank,
                  const std::function<void(const group::RecordedCalls&)>& look) override {
    group_.rank(rank).thread().with_balancer(
        [&](Balancer& /*balancer*/) { look(group_.rank(rank).recording().calls()); });
  }

  [[nodiscard]] bool holds(LayerId layer, SlotId slot, LogicalExpertId expert) override {
    const std::int32_t slots = options_.settings.shape.slots_per_rank();
    const RankId rank{slot.value / slots};
    bool held = false;
    const bool looked = group_.rank(rank).look(
        [&] { held = group_.rows().holds(rank, layer, slot.value % slots, expert); });
    return looked && held;
  }

  [[nodiscard]] std::optional<LayerMap> map(RankId rank, LayerId layer) override {
    std::optional<LayerMap> found;
    static_cast<void>(group_.rank(rank).look([&] { found = group_.rank(rank).maps().map(layer); }));
    return found;
  }

  [[nodiscard]] std::optional<Failure> stop_reason(RankId rank) override {
    return group_.rank(rank).stopped();
  }

  [[nodiscard]] std::vector<std::string> faults() override {
    std::vector<std::string> faults;
    each([&](RankId rank) {
      const auto& found = group_.rank(rank).faults();
      faults.insert(faults.end(), found.begin(), found.end());
      return Result<void>();
    });
    return faults;
  }

  void drain() override {
    static_cast<void>(each_balancer([](group::Recording& recording, Balancer& balancer) {
      recording.drain(balancer);
      return Result<void>();
    }));
  }

  void resume() override {
    static_cast<void>(each_balancer([](group::Recording& recording, Balancer& balancer) {
      recording.resume(balancer);
      return Result<void>();
    }));
  }

  [[nodiscard]] Result<void> release_memory() override {
    return each_balancer([](group::Recording& recording, Balancer& balancer) {
      return recording.release_memory(balancer);
    });
  }

  [[nodiscard]] Result<void> reserve_memory() override {
    auto reserved = each_balancer([](group::Recording& recording, Balancer& balancer) {
      return recording.reserve_memory(balancer);
    });
    each([&](RankId rank) {
      with_balancer(rank,
                    [&](Balancer& balancer) { group_.rows().load(rank, balancer.placement()); });
      return Result<void>();
    });
    return reserved;
  }

  void break_transfers(std::optional<RankId> from) override { group_.wire().break_sender(from); }

  void break_commits(RankId rank) override { group_.rank(rank).forward_queue().break_copies(); }

  void break_plans(RankId rank, bool broken) override { group_.rank(rank).policy().fails = broken; }

  void lose(RankId rank) override { group_.lose(rank); }

 private:
  /// The first error of all ranks'.
  template <typename Act>
  Result<void> each(const Act& act) {
    Result<void> result;
    for (std::int32_t rank = 0; rank < options_.settings.shape.rank_count; ++rank) {
      auto acted = act(RankId{rank});
      result = result.has_value() ? std::move(acted) : std::move(result);
    }
    return result;
  }

  template <typename Act>
  Result<void> each_balancer(const Act& act) {
    return each([&](RankId rank) {
      return group_.rank(rank).thread().with_balancer(
          [&](Balancer& balancer) { return act(group_.rank(rank).recording(), balancer); });
    });
  }

  WorldOptions options_;
  HostGroup group_;
};

}  // namespace

std::unique_ptr<World> make_world(const WorldOptions& options) {
  return std::make_unique<ThreadedWorld>(options);
}

}  // namespace eplb::test
