#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <thread>
#include <utility>

#include "eplb/gpu/transport/host_staged_transport.hpp"
#include "eplb/group/membership.hpp"
#include "eplb/group/shared_bytes.hpp"
#include "world.hpp"
#include "world_rank.hpp"

namespace eplb::gpu::test {
namespace {

using eplb::test::World;

/// For the ranks to meet as they start.
constexpr std::int64_t kExchangeMs = 20'000;

/// None where no transport of ours is one of that side.
std::optional<Communicator> communicator_of(env::TransferSide side) {
  switch (side) {
    case env::TransferSide::kSender:
      return Communicator::kSymmMem;
    case env::TransferSide::kBoth:
      return Communicator::kTorchGloo;
    case env::TransferSide::kReceiver:
      break;
  }
  return std::nullopt;
}

std::vector<RankId> ranks_of(const Shape& shape) {
  std::vector<RankId> ranks;
  ranks.reserve(static_cast<std::size_t>(shape.rank_count));
  for (std::int32_t rank = 0; rank < shape.rank_count; ++rank) {
    ranks.push_back(RankId{rank});
  }
  return ranks;
}

template <typename T>
T required(Result<T> result) {
  if (!result) {
    throw std::runtime_error(result.error().message);
  }
  return std::move(*result);
}

/// A rank that cannot go on tells why in its own words; the others have only heard of it.
Result<void> first_cause(const std::vector<Result<void>>& results) {
  const auto own = std::ranges::find_if(results, [](const Result<void>& result) {
    return !result && result.error().code != ErrorCode::kPeerFailed;
  });
  const auto any =
      std::ranges::find_if(results, [](const Result<void>& result) { return !result; });
  if (own != results.end()) {
    return *own;
  }
  return any != results.end() ? *any : Result<void>();
}

/// Ranks as threads of this process, each with the environment of a real rank, on one GPU.
class GpuWorld final : public World {
 public:
  explicit GpuWorld(const eplb::test::WorldOptions& options)
      : options_(options),
        membership_(required(group::Membership::alone(
            options.settings.shape.rank_count,
            group::SumSizes::of(options.settings.shape, options.settings.options.window_parts)))),
        exchange_(*membership_, ranks_of(options.settings.shape), kExchangeMs),
        desk_(options.settings.shape.rank_count) {}

  // Ranks may write each other's memory: none of it goes before all have ended.
  ~GpuWorld() override {
    for (const auto& rank : ranks_) {
      rank->lose();
    }
    if (const cudaError_t status = cudaDeviceSynchronize(); status != cudaSuccess) {
      std::fprintf(stderr, "the end of a world: %s\n", cudaGetErrorName(status));
    }
  }

  GpuWorld(const GpuWorld&) = delete;
  GpuWorld& operator=(const GpuWorld&) = delete;
  GpuWorld(GpuWorld&&) = delete;
  GpuWorld& operator=(GpuWorld&&) = delete;

  [[nodiscard]] bool can_transfer(env::TransferSide side) const override {
    return communicator_of(side).has_value();
  }

  [[nodiscard]] Result<void> start() override {
    const std::optional<Communicator> communicator = communicator_of(options_.side);
    if (!communicator) {
      return fail(ErrorCode::kUnsupported, "no transport of a GPU pulls rows");
    }
    if (*communicator == Communicator::kTorchGloo) {
      auto mapped = group::SharedBytes::map(
          *membership_,
          HostStagedTransport::shared_bytes({.rank_count = options_.settings.shape.rank_count}),
          kExchangeMs);
      if (!mapped) {
        return tl::unexpected(mapped.error());
      }
      staging_ = std::move(*mapped);
    }
    for (const RankId rank : ranks_of(options_.settings.shape)) {
      ranks_.push_back(std::make_unique<WorldRank>(
          WorldRank::Parts{.options = options_,
                           .communicator = *communicator,
                           .exchange = exchange_,
                           .desk = desk_,
                           .staging = staging_ ? staging_->bytes() : std::span<std::byte>()},
          rank, membership_->control_plane(rank)));
    }
    return each([](WorldRank& rank) { return rank.start(); });
  }

  [[nodiscard]] bool run(std::int64_t forwards) override {
    constexpr std::chrono::minutes kDeadline(1);
    for (const auto& rank : ranks_) {
      if (!rank->lost() && rank->started()) {
        rank->begin(forwards);
      }
    }
    const auto end = std::chrono::steady_clock::now() + kDeadline;
    while (!std::ranges::all_of(ranks_, [](const auto& rank) { return rank->ended(); })) {
      if (std::chrono::steady_clock::now() > end) {
        return false;
      }
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    return std::ranges::none_of(ranks_, [](const auto& rank) { return rank->threw(); });
  }

  void with_balancer(RankId rank, const std::function<void(Balancer&)>& look) override {
    at(rank).with_balancer(
        [&](group::Recording& /*recording*/, Balancer& balancer) { look(balancer); });
  }

  void with_calls(RankId rank,
                  const std::function<void(const group::RecordedCalls&)>& look) override {
    at(rank).with_balancer([&](const group::Recording& recording, Balancer& /*balancer*/) {
      look(recording.calls());
    });
  }

  [[nodiscard]] bool holds(LayerId layer, SlotId slot, LogicalExpertId expert) override {
    const std::int32_t slots = options_.settings.shape.slots_per_rank();
    return at(RankId{slot.value / slots}).holds(layer, LocalSlot{slot.value % slots}, expert);
  }

  [[nodiscard]] std::optional<LayerMap> map(RankId rank, LayerId layer) override {
    return at(rank).map(layer);
  }

  [[nodiscard]] std::optional<Failure> stop_reason(RankId rank) override {
    return at(rank).stopped();
  }

  [[nodiscard]] std::vector<std::string> faults() override {
    std::vector<std::string> faults;
    for (const auto& rank : ranks_) {
      faults.insert(faults.end(), rank->faults().begin(), rank->faults().end());
    }
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
    return each([](WorldRank& rank) { return rank.reserve_memory(); });
  }

  void break_transfers(std::optional<RankId> from) override {
    for (const auto& rank : ranks_) {
      rank->transport().break_sender(from);
    }
  }

  void break_commits(RankId rank) override { at(rank).forward_queue().break_copies(); }

  void break_plans(RankId rank, bool broken) override { at(rank).policy().fails = broken; }

  // A process cannot lose one of its threads, so the rank falls silent and another one tells, as
  // the others' LossMonitor would. What it has pushed goes on, as the pushes of a killed rank may.
  void lose(RankId rank) override {
    at(rank).lose();
    const auto witness = std::ranges::find_if(
        ranks_, [](const auto& candidate) { return !candidate->lost() && candidate->started(); });
    (*witness)->tell_lost(rank);
  }

 private:
  [[nodiscard]] WorldRank& at(RankId rank) { return *ranks_[rank.index()]; }

  /// What ranks do at once, since much of it they do together.
  template <typename Act>
  Result<void> each(const Act& act) {
    std::vector<Result<void>> results(ranks_.size());
    {
      std::vector<std::jthread> threads;
      threads.reserve(ranks_.size());
      for (std::size_t index = 0; index < ranks_.size(); ++index) {
        threads.emplace_back([this, index, &act, &results] {
          try {
            results[index] = act(*ranks_[index]);
          } catch (const std::exception& error) {
            results[index] = fail(ErrorCode::kDevice, error.what());
          }
        });
      }
    }
    return first_cause(results);
  }

  template <typename Act>
  Result<void> each_balancer(const Act& act) {
    return each([&act](WorldRank& rank) { return rank.with_balancer(act); });
  }

  eplb::test::WorldOptions options_;
  std::unique_ptr<group::Membership> membership_;
  group::RankExchange exchange_;
  eplb::test::ForwardDesk desk_;
  std::unique_ptr<group::SharedBytes> staging_;
  std::vector<std::unique_ptr<WorldRank>> ranks_;
};

}  // namespace
}  // namespace eplb::gpu::test

std::unique_ptr<eplb::test::World> eplb::test::make_world(const WorldOptions& options) {
  return std::make_unique<eplb::gpu::test::GpuWorld>(options);
}
