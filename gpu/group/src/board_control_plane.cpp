#include "eplb/group/board_control_plane.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "board_layout.hpp"
#include "board_writer.hpp"
#include "eplb/core/assert.hpp"
#include "status_words.hpp"

namespace eplb::group {
namespace {

/// Rounds that are kept behind a rank's own newest (env::ControlPlane::find).
constexpr std::int64_t kRoundsKept = 64;

constexpr RoundKey first_key(RoundKey::Channel channel) {
  return {
      .channel = channel, .rearrangement = std::numeric_limits<std::int64_t>::min(), .round = 0};
}

}  // namespace

struct BoardControlPlane::Inbox {
  StatusLog log;
  std::map<RoundKey, Status> statuses;  ///< A map, since find() hands out where they are.
};

BoardControlPlane::BoardControlPlane(Board& board, RankId rank)
    : board_(board),
      rank_(rank),
      writer_(std::make_unique<BoardWriter>(board, rank)),
      oldest_kept_{first_key(RoundKey::Channel::kAgreement),
                   first_key(RoundKey::Channel::kBarrier)} {
  const std::int32_t rank_count = board.options().rank_count;
  inboxes_.reserve(static_cast<std::size_t>(rank_count));
  for (std::int32_t peer = 0; peer < rank_count; ++peer) {
    inboxes_.push_back({.log = StatusLog(board, RankId{peer}), .statuses = {}});
  }
}

BoardControlPlane::~BoardControlPlane() = default;

void BoardControlPlane::post(const Status& status) {
  RoundKey& oldest = oldest_kept_[static_cast<std::size_t>(status.key.channel)];
  oldest = status.key;
  oldest.round -= kRoundsKept;
  writer_->post(status);
  writer_->write_kept_sums();
}

// A miss costs one load and a look into a small tree; most of the time of a hit is the copy of a
// cache line that another core has written.
const Status* BoardControlPlane::find(RankId rank, const RoundKey& key) const {
  Inbox& inbox = inboxes_[rank.index()];
  take_in(inbox);
  const auto found = inbox.statuses.find(key);
  return found == inbox.statuses.end() ? nullptr : &found->second;
}

void BoardControlPlane::take_in(Inbox& inbox) const {
  while (const std::optional<Status> status = inbox.log.try_take()) {
    const RoundKey::Channel channel = status->key.channel;
    const RoundKey& oldest = oldest_kept_[static_cast<std::size_t>(channel)];
    inbox.statuses.erase(inbox.statuses.lower_bound(first_key(channel)),
                         inbox.statuses.lower_bound(oldest));
    inbox.statuses.emplace(status->key, *status);
  }
}

void BoardControlPlane::post_retired(std::int64_t rearrangement, std::int32_t layers) {
  writer_->post_retired(rearrangement, layers);
}

std::int32_t BoardControlPlane::retired(RankId rank, std::int64_t rearrangement) const {
  const auto& words = board_.rank_record(rank).retired;
  const std::uint64_t word =
      words[static_cast<std::size_t>(rearrangement % 2)].load(std::memory_order_acquire);
  return retired_rearrangement(word) == rearrangement ? retired_layers(word) : 0;
}

void BoardControlPlane::post_heartbeat() {
  writer_->post_heartbeat();
  writer_->write_kept_sums();
}

std::int64_t BoardControlPlane::heard_ns(RankId rank) const {
  return board_.rank_record(rank).heard_ns.load(std::memory_order_relaxed);
}

void BoardControlPlane::start_sum(const env::SumKey& key, std::span<const double> values) {
  std::int64_t& next = next_sum_[static_cast<std::size_t>(key.kind)];
  EPLB_ASSERT_OP(key.index, >=, next);
  next = key.index + 1;
  if (key.kind == env::SumKey::Kind::kWindow) {
    sums_.erase(sums_.lower_bound({.kind = key.kind, .index = 0}), sums_.lower_bound(key));
  }
  sums_.emplace(key, SumUnderWay{.sum = std::make_shared<std::vector<double>>(values.size(), 0.0)});
  publish_taken(key.kind);
  writer_->start_sum(key, values);
}

std::shared_ptr<const std::vector<double>> BoardControlPlane::try_take_sum(const env::SumKey& key) {
  writer_->write_kept_sums();
  const auto found = sums_.find(key);
  if (found == sums_.end() || !add_up(key, found->second)) {
    return nullptr;
  }
  auto sum = std::move(found->second.sum);
  sums_.erase(found);
  publish_taken(key.kind);
  return sum;
}

// True once all ranks' values are in it. In order of ranks whoever adds, so that all get the same
// bits; what has come is added while the rest is still awaited.
bool BoardControlPlane::add_up(const env::SumKey& key, SumUnderWay& under_way) const {
  auto left = static_cast<std::size_t>(kAddsPerCall);
  std::vector<double>& sum = *under_way.sum;
  while (under_way.rank < board_.options().rank_count) {
    const RankId peer{under_way.rank};
    const std::int32_t slot = find_sum_slot(board_, peer, key);
    if (slot < 0 || left == 0) {
      return false;
    }
    const auto count = static_cast<std::size_t>(board_.sum_slot(peer, key.kind, slot).value_count);
    EPLB_ASSERT_OP(count, ==, sum.size());
    const std::span<const double> values = board_.sum_values(peer, key.kind, slot);
    const std::size_t end = std::min(under_way.value + left, count);
    left -= end - under_way.value;
    for (std::size_t value = under_way.value; value < end; ++value) {
      sum[value] += values[value];
    }
    under_way.value = end;
    if (end == count) {
      ++under_way.rank;
      under_way.value = 0;
    }
  }
  return true;
}

// Release: the values were read before, and may be written over from now on.
void BoardControlPlane::publish_taken(env::SumKey::Kind kind) {
  const auto number = static_cast<std::size_t>(kind);
  const auto lowest = sums_.lower_bound({.kind = kind, .index = 0});
  const bool under_way = lowest != sums_.end() && lowest->first.kind == kind;
  board_.rank_record(rank_).sums_taken_below[number].store(
      under_way ? lowest->first.index : next_sum_[number], std::memory_order_release);
  board_.announce();
}

void BoardControlPlane::end_group(const Failure& failure) {
  board_.end(failure);
}

std::optional<Failure> BoardControlPlane::group_failure() const {
  return board_.failure();
}

}  // namespace eplb::group
