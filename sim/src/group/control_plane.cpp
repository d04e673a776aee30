#include "eplb/sim/group/control_plane.hpp"

#include <algorithm>
#include <utility>

#include "eplb/core/assert.hpp"

namespace eplb::sim {
namespace {

/// Rounds that are kept behind a rank's own newest (env::ControlPlane::find), and sums behind the
/// newest that was taken.
constexpr std::int64_t kRoundsKept = 64;

}  // namespace

void SimPost::send_status(RankId from, const Status& status) {
  if (trace_ != nullptr) {
    trace_->status_posted(
        from, status.failure ? describe(status.failure) : std::string(to_string(status.state)));
  }
  // The hosts' barriers go the way of their sums.
  const bool barrier = status.key.channel == RoundKey::Channel::kBarrier;
  send_to_all(from, {.status = status}, barrier ? timing_.sum_ns(0) : 0);
}

void SimPost::send_heartbeat(RankId from) {
  send_to_all(from, {});
}

void SimPost::send_retired(RankId from, std::int64_t rearrangement, std::int32_t layers) {
  send_to_all(from,
              {.retired = Retired{.rank = from, .rearrangement = rearrangement, .layers = layers}});
}

void SimPost::add_to_sum(RankId from, const env::SumKey& key, std::span<const double> values) {
  auto& parts = sums_[key];
  parts.resize(ends_.size());
  EPLB_ASSERT(!parts[from.index()]);
  parts[from.index()].emplace(values.begin(), values.end());
  if (!std::ranges::all_of(parts, [](const auto& part) { return part.has_value(); })) {
    return;
  }
  auto sum = std::make_shared<std::vector<double>>(values.size(), 0.0);
  for (const auto& part : parts) {
    for (std::size_t index = 0; index < part->size(); ++index) {
      (*sum)[index] += (*part)[index];
    }
  }
  sums_.erase(key);
  const auto bytes = static_cast<std::int64_t>(sum->size() * sizeof(double));
  send_to_all(from, {.sum_key = key, .sum = std::move(sum)}, timing_.sum_ns(bytes));
}

void SimPost::end_group(RankId from, const Failure& failure) {
  if (!ended_) {
    ended_ = failure;
    send_to_all(from, {.end = failure});
  }
}

void SimPost::lose(RankId rank) {
  end_group(rank, {.cause = FailureCause::kRankLost, .rank = rank});
}

void SimPost::send_to_all(RankId from, const Letter& letter, std::int64_t after_ns) {
  for (std::size_t to = 0; to < ends_.size(); ++to) {
    Letter copy = letter;
    copy.from = from;
    copy.to = to;
    const RankId receiver{static_cast<std::int32_t>(to)};
    const int times = timing_.repeats_message() ? 2 : 1;
    for (int time = 0; time < times; ++time) {
      const std::int64_t sent_ns = engine_.now_ns() + after_ns;
      engine_.schedule(sent_ns + timing_.message_ns(from, receiver), Phase::kCompletion, *this,
                       next_letter_);
      letters_.emplace(next_letter_++, copy);
    }
  }
}

void SimPost::on_event(const Event& event) {
  const auto found = letters_.find(event.argument);
  const Letter letter = std::move(found->second);
  letters_.erase(found);
  SimControlPlane& end = *ends_[letter.to];
  end.hear(letter.from, engine_.now_ns());
  if (letter.status) {
    end.receive_status(*letter.status);
  } else if (letter.retired) {
    end.receive_retired(letter.retired->rank, letter.retired->rearrangement,
                        letter.retired->layers);
  } else if (letter.sum_key) {
    end.receive_sum(*letter.sum_key, letter.sum);
  } else if (letter.end) {
    end.receive_end(*letter.end);
  }
}

void SimControlPlane::post(const Status& status) {
  RoundKey oldest = status.key;
  oldest.round -= kRoundsKept;
  const RoundKey first{.channel = status.key.channel, .rearrangement = -1, .round = 0};
  statuses_.erase(statuses_.lower_bound(first), statuses_.lower_bound(oldest));
  post_.send_status(rank_, status);
}

const Status* SimControlPlane::find(RankId rank, const RoundKey& key) const {
  const auto round = statuses_.find(key);
  if (round == statuses_.end() || !round->second[rank.index()]) {
    return nullptr;
  }
  return &*round->second[rank.index()];
}

void SimControlPlane::post_retired(std::int64_t rearrangement, std::int32_t layers) {
  post_.send_retired(rank_, rearrangement, layers);
}

std::int32_t SimControlPlane::retired(RankId rank, std::int64_t rearrangement) const {
  const Retired& newest = retired_[rank.index()];
  return newest.rearrangement == rearrangement ? newest.layers : 0;
}

void SimControlPlane::start_sum(const env::SumKey& key, std::span<const double> values) {
  post_.add_to_sum(rank_, key, values);
}

std::shared_ptr<const std::vector<double>> SimControlPlane::try_take_sum(const env::SumKey& key) {
  const auto found = sums_.find(key);
  if (found == sums_.end()) {
    return nullptr;
  }
  auto sum = std::exchange(found->second, nullptr);
  const env::SumKey first{.kind = key.kind, .index = 0};
  const env::SumKey oldest{.kind = key.kind,
                           .index = std::max(key.index - kRoundsKept, std::int64_t{0})};
  sums_.erase(sums_.lower_bound(first), sums_.lower_bound(oldest));
  return sum;
}

void SimControlPlane::end_group(const Failure& failure) {
  post_.end_group(rank_, failure);
}

void SimControlPlane::receive_status(const Status& status) {
  auto& round = statuses_[status.key];
  round.resize(static_cast<std::size_t>(rank_count_));
  if (!round[status.rank.index()]) {
    round[status.rank.index()] = status;
    host_.wake();
  }
}

void SimControlPlane::receive_retired(RankId rank, std::int64_t rearrangement,
                                      std::int32_t layers) {
  Retired& newest = retired_[rank.index()];
  if (rearrangement > newest.rearrangement ||
      (rearrangement == newest.rearrangement && layers > newest.layers)) {
    newest = {.rearrangement = rearrangement, .layers = layers};
    host_.wake();
  }
}

void SimControlPlane::receive_sum(const env::SumKey& key,
                                  std::shared_ptr<const std::vector<double>> sum) {
  if (sums_.emplace(key, std::move(sum)).second) {
    host_.wake();
  }
}

void SimControlPlane::receive_end(const Failure& failure) {
  if (!failure_) {
    failure_ = failure;
    host_.wake();
  }
}

}  // namespace eplb::sim
