#include "chaos_timing.hpp"

#include <algorithm>

namespace eplb::sim {
namespace {

constexpr std::int64_t kMs = 1'000'000;

/// Short enough that what waits for a link is drained before the deadline (swarm.cpp).
constexpr std::uint64_t kClogNs = 15 * kMs;

/// Longer than any deadline of a swarm.
constexpr std::int64_t kStallNs = 400 * kMs;

}  // namespace

// Links stop one by one and go on in another order: each begins in the first half of the time with
// faults, and lasts as long as it likes.
ChaosTiming::ChaosTiming(const Swarm& swarm)
    : swarm_(swarm),
      network_(swarm.seed, "network"),
      copies_(swarm.seed, "copies"),
      hosts_(swarm.seed, "hosts"),
      planners_(swarm.seed, "planners") {
  RandomStream random(swarm.seed, "clogs");
  const auto ranks = static_cast<std::uint64_t>(swarm.shape.rank_count);
  const auto half_ns = static_cast<std::uint64_t>(swarm.fault_steps * kMs / 2);
  for (std::int32_t link = 0; link < swarm.slow_links; ++link) {
    const auto begin_ns = static_cast<std::int64_t>(random.below(half_ns));
    clogs_.push_back({.from = RankId{static_cast<std::int32_t>(random.below(ranks))},
                      .to = RankId{static_cast<std::int32_t>(random.below(ranks))},
                      .begin_ns = begin_ns,
                      .end_ns = begin_ns + static_cast<std::int64_t>(random.below(kClogNs))});
  }
}

std::int64_t ChaosTiming::draw(RandomStream& random, const DelayRange& range) const {
  const bool long_one = happens(random, range.tail);
  const std::int64_t most_ns = long_one ? range.tail_ns : range.most_ns;
  const auto spread = static_cast<std::uint64_t>(most_ns - range.least_ns) + 1;
  return range.least_ns + static_cast<std::int64_t>(random.below(spread));
}

bool ChaosTiming::happens(RandomStream& random, PerMille share) const {
  constexpr std::uint64_t kAll = 1000;
  return !healed_ && share.value > 0 &&
         random.below(kAll) < static_cast<std::uint64_t>(share.value);
}

bool ChaosTiming::due(const std::optional<RankEvent>& event, RankId rank) const {
  return !healed_ && event.has_value() && event->rank == rank.value && step_ >= event->step;
}

std::int64_t ChaosTiming::message_ns(RankId from, RankId to) {
  return from == to ? 0 : draw(network_, swarm_.message);
}

bool ChaosTiming::repeats_message() {
  return happens(network_, swarm_.repeated_message);
}

Flight ChaosTiming::transfer(const RowCopy& copy, std::int64_t /*bytes*/, std::int64_t now_ns) {
  std::int64_t begin_ns = now_ns;
  for (const Clog& clog : clogs_) {
    const bool this_link = clog.from == copy.source.rank && clog.to == copy.destination.rank;
    if (this_link && now_ns >= clog.begin_ns) {
      begin_ns = std::max(begin_ns, clog.end_ns);
    }
  }
  return {.end_ns = begin_ns + draw(network_, swarm_.transfer),
          .failed = happens(network_, swarm_.failed_transfer)};
}

bool ChaosTiming::refuses_transfer(RankId /*rank*/) {
  return happens(network_, swarm_.refused_transfer);
}

Flight ChaosTiming::local_copy(const RowCopy& copy, std::int64_t /*bytes*/, std::int64_t now_ns) {
  const bool commit = copy.source.region == kLandingRegion;
  return {.end_ns = now_ns + draw(copies_, swarm_.local_copy),
          .failed = commit && due(swarm_.failed_commit, copy.destination.rank)};
}

std::int64_t ChaosTiming::publish_ns(RankId /*rank*/) {
  return draw(copies_, swarm_.local_copy) / 4;
}

std::int64_t ChaosTiming::read_back_ns(RankId /*rank*/, std::int64_t /*bytes*/) {
  return draw(copies_, swarm_.read_back);
}

std::int64_t ChaosTiming::plan_ns(RankId /*rank*/, std::int32_t /*layer_count*/) {
  return draw(planners_, swarm_.plan);
}

bool ChaosTiming::refuses_memory(RankId rank) {
  return step_ == 0 && !healed_ && swarm_.refused_memory == rank.value;
}

std::int64_t ChaosTiming::host_ns(RankId rank) {
  if (due(swarm_.stalled_host, rank)) {
    swarm_.stalled_host.reset();
    return kStallNs;
  }
  return draw(hosts_, swarm_.host);
}

std::int64_t ChaosTiming::poll_ns(RankId /*rank*/) {
  return draw(hosts_, swarm_.poll);
}

}  // namespace eplb::sim
