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

/// What the ranks of a group have told each other, known to all at once.
struct ImmediateBoard {
  std::int32_t rank_count = 1;
  std::map<std::pair<RankId, RoundKey>, Status> statuses;
  std::map<std::pair<RankId, std::int64_t>, std::int32_t> retired;
  std::map<env::SumKey, std::map<RankId, std::vector<double>>> sums;
  std::optional<Failure> end;
};

/// A rank's access to the board.
class ImmediateControlPlane final : public env::ControlPlane {
 public:
  ImmediateControlPlane(RankId rank, ImmediateBoard& board) : rank_(rank), board_(board) {}

  [[nodiscard]] RankId rank() const override { return rank_; }

  void post(const Status& status) override {
    board_.statuses.emplace(std::pair(rank_, status.key), status);
  }

  [[nodiscard]] const Status* find(RankId rank, const RoundKey& key) const override {
    const auto found = board_.statuses.find({rank, key});
    return found == board_.statuses.end() ? nullptr : &found->second;
  }

  void post_retired(std::int64_t rearrangement, std::int32_t layers) override {
    board_.retired[{rank_, rearrangement}] = layers;
  }

  [[nodiscard]] std::int32_t retired(RankId rank, std::int64_t rearrangement) const override {
    const auto found = board_.retired.find({rank, rearrangement});
    return found == board_.retired.end() ? 0 : found->second;
  }

  void post_heartbeat() override {}

  [[nodiscard]] std::int64_t heard_ns(RankId /*rank*/) const override { return 0; }

  void start_sum(const env::SumKey& key, std::span<const double> values) override {
    board_.sums[key].emplace(rank_, std::vector<double>(values.begin(), values.end()));
  }

  [[nodiscard]] std::shared_ptr<const std::vector<double>> try_take_sum(
      const env::SumKey& key) override {
    const auto found = board_.sums.find(key);
    if (found == board_.sums.end() ||
        found->second.size() < static_cast<std::size_t>(board_.rank_count)) {
      return nullptr;
    }
    std::vector<double> sum(found->second.begin()->second.size(), 0.0);
    for (const auto& [rank, values] : found->second) {
      std::ranges::transform(sum, values, sum.begin(), std::plus<>());
    }
    return std::make_shared<const std::vector<double>>(std::move(sum));
  }

  void end_group(const Failure& failure) override { board_.end = board_.end.value_or(failure); }

  [[nodiscard]] std::optional<Failure> group_failure() const override { return board_.end; }

 private:
  RankId rank_;
  ImmediateBoard& board_;
};

}  // namespace eplb::test
