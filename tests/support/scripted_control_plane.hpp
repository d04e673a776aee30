#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "eplb/core/env/control_plane.hpp"

namespace eplb::test {

/// The board as one rank sees it. Its peers post what it posts, as soon as it does, except where
/// the test speaks for them: it may hold a peer's posts back, change them, or post in its name.
class ScriptedControlPlane final : public env::ControlPlane {
 public:
  ScriptedControlPlane(RankId rank, std::int32_t rank_count)
      : rank_(rank), rank_count_(rank_count) {}

  [[nodiscard]] RankId rank() const override { return rank_; }

  void post(const Status& status) override {
    posts.push_back(status);
    statuses.emplace(std::pair(rank_, status.key), status);
    for (std::int32_t index = 0; index < rank_count_; ++index) {
      const RankId peer{index};
      if (peer != rank_ && !std::ranges::count(silent_peers, peer)) {
        Status mirrored = status;
        mirrored.rank = peer;
        if (change_peer) {
          change_peer(mirrored);
        }
        post_of(mirrored);
      }
    }
  }

  /// Posts in a peer's name; as on the real board, the first of a key counts.
  void post_of(const Status& status) {
    statuses.emplace(std::pair(status.rank, status.key), status);
  }

  [[nodiscard]] const Status* find(RankId rank, const RoundKey& key) const override {
    const auto found = statuses.find({rank, key});
    return found == statuses.end() ? nullptr : &found->second;
  }

  void post_retired(std::int64_t rearrangement, std::int32_t layers) override {
    own_retired[rearrangement] = layers;
  }

  [[nodiscard]] std::int32_t retired(RankId rank, std::int64_t rearrangement) const override {
    if (rank != rank_ && peers_retired.has_value()) {
      return *peers_retired;
    }
    const auto found = own_retired.find(rearrangement);
    return found == own_retired.end() ? 0 : found->second;
  }

  void post_heartbeat() override { ++heartbeat_count; }

  [[nodiscard]] std::int64_t heard_ns(RankId rank) const override {
    const auto heard = heard_from.find(rank.value);
    return heard == heard_from.end() ? 0 : heard->second;
  }

  void start_sum(const env::SumKey& key, std::span<const double> values) override {
    own_sums.emplace_back(key, std::vector<double>(values.begin(), values.end()));
    sums_.emplace(key, own_sums.back().second);
  }

  /// A sum is this rank's own values: its peers give zeros.
  [[nodiscard]] std::shared_ptr<const std::vector<double>> try_take_sum(
      const env::SumKey& key) override {
    const auto found = sums_.find(key);
    if (found == sums_.end() || std::ranges::count(late_sums, key) > 0) {
      return nullptr;
    }
    auto sum = std::make_shared<const std::vector<double>>(std::move(found->second));
    sums_.erase(found);
    return sum;
  }

  void end_group(const Failure& failure) override {
    ends.push_back(failure);
    if (ends_at_once && !group_end.has_value()) {
      group_end = failure;
    }
  }

  [[nodiscard]] std::optional<Failure> group_failure() const override { return group_end; }

  // What the test sets.
  std::vector<RankId> silent_peers;           ///< Post nothing of themselves.
  std::function<void(Status&)> change_peer;   ///< What a peer posts otherwise than this rank.
  std::optional<std::int32_t> peers_retired;  ///< None: as this rank.
  std::vector<env::SumKey> late_sums;         ///< Are not complete yet.
  bool ends_at_once = true;                   ///< Else an end is known when the test sets it.
  std::optional<Failure> group_end;
  std::int64_t heartbeat_count = 0;                 ///< Posted by the rank under test.
  std::map<std::int32_t, std::int64_t> heard_from;  ///< By rank: when anything last came, ns.

  // What this rank did, and what is on the board.
  std::vector<Status> posts;
  std::vector<std::pair<env::SumKey, std::vector<double>>> own_sums;
  std::vector<Failure> ends;
  std::map<std::int64_t, std::int32_t> own_retired;
  std::map<std::pair<RankId, RoundKey>, Status> statuses;

 private:
  RankId rank_;
  std::int32_t rank_count_;
  std::map<env::SumKey, std::vector<double>> sums_;
};

}  // namespace eplb::test
