#include "eplb/group/rank_exchange.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "wire.hpp"

namespace eplb::group {

RankExchange::RankExchange(Membership& membership, std::vector<RankId> own_ranks,
                           std::int64_t deadline_ms)
    : membership_(membership),
      own_ranks_(std::move(own_ranks)),
      deadline_ms_(deadline_ms),
      given_(own_ranks_.size()) {}

std::vector<std::vector<std::byte>> RankExchange::gather(RankId rank,
                                                         std::span<const std::byte> bytes) {
  std::unique_lock lock(mutex_);
  const auto place =
      static_cast<std::size_t>(std::ranges::find(own_ranks_, rank) - own_ranks_.begin());
  given_[place].assign(bytes.begin(), bytes.end());
  const std::int64_t mine = ended_count_;
  if (++come_count_ == own_ranks_.size()) {
    exchange();
    come_count_ = 0;
    ++ended_count_;
    done_.notify_all();
    return gathered_;
  }
  const bool in_time = done_.wait_for(lock, std::chrono::milliseconds(deadline_ms_),
                                      [&] { return ended_count_ > mine; });
  return in_time ? gathered_ : std::vector<std::vector<std::byte>>{};
}

void RankExchange::exchange() {
  ByteWriter writer;
  for (const Bytes& bytes : given_) {
    writer.put_all<std::byte>(bytes);
  }
  gathered_.clear();
  const auto all = membership_.exchange(writer.bytes(), deadline_ms_);
  if (!all) {
    return;
  }
  std::size_t rank_count = 0;
  for (const Member& member : membership_.members()) {
    rank_count += member.ranks.size();
  }
  std::vector<Bytes> by_rank(rank_count);
  for (std::size_t index = 0; index < all->size(); ++index) {
    ByteReader reader((*all)[index]);
    for (const RankId rank : membership_.members()[index].ranks) {
      by_rank[rank.index()] = reader.get_all<std::byte>();
    }
    if (!reader.complete()) {
      return;  // Another program's bytes: as if that rank were not heard.
    }
  }
  gathered_ = std::move(by_rank);
}

}  // namespace eplb::group
