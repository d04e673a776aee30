#include "host_group.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <utility>

namespace eplb::test {
namespace {

/// A rank draws for two queues and a recorder, so seeds of neighbours lie apart.
constexpr std::uint64_t kSeedsPerRank = 16;

}  // namespace

HostGroup::HostGroup(Options options, const PlacementPolicy& policy)
    : options_(std::move(options)),
      rows_(options_.settings.shape.rank_count),
      wire_(rows_, {.side = options_.side,
                    .rank_count = options_.settings.shape.rank_count,
                    .seed = options_.seed}),
      desk_(options_.settings.shape.rank_count) {
  const Shape& shape = options_.settings.shape;
  auto membership = group::Membership::alone(
      shape.rank_count, group::SumSizes::of(shape, options_.settings.options.window_parts));
  if (!membership) {
    throw std::runtime_error(membership.error().message);
  }
  membership_ = std::move(*membership);
  const HostRank::Parts parts{.rows = rows_,
                              .wire = wire_,
                              .desk = desk_,
                              .policy = policy,
                              .tokens = options_.tokens,
                              .kind = options_.kind};
  for (std::int32_t rank = 0; rank < shape.rank_count; ++rank) {
    ranks_.push_back(std::make_unique<HostRank>(
        parts, membership_->control_plane(RankId{rank}),
        HostRank::Options{
            .rank = RankId{rank},
            .seed = (options_.seed + static_cast<std::uint64_t>(rank)) * kSeedsPerRank,
            .settings = options_.settings,
            .memory_refused = options_.memory_refused == RankId{rank}}));
  }
}

// Ranks may read each other's memory: none of it goes before all have ended.
HostGroup::~HostGroup() {
  for (const auto& rank : ranks_) {
    rank->lose();
  }
}

Result<void> HostGroup::start() {
  std::vector<Result<void>> results(ranks_.size());
  std::vector<std::thread> starting;
  starting.reserve(ranks_.size());
  for (std::size_t index = 0; index < ranks_.size(); ++index) {
    starting.emplace_back([this, index, &results] { results[index] = ranks_[index]->start(); });
  }
  for (std::thread& thread : starting) {
    thread.join();
  }
  const auto refused =
      std::ranges::find_if(results, [](const Result<void>& result) { return !result.has_value(); });
  return refused == results.end() ? Result<void>() : *refused;
}

bool HostGroup::run(std::int64_t forwards) {
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
  return true;
}

void HostGroup::lose(RankId rank) {
  ranks_[rank.index()]->lose();
  const auto witness = std::ranges::find_if(
      ranks_, [](const auto& candidate) { return !candidate->lost() && candidate->started(); });
  (*witness)->control_plane().end_group(
      {.cause = FailureCause::kRankLost, .rank = rank, .state = MigrationState::kIdle});
}

}  // namespace eplb::test
