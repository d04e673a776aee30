#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "eplb/core/env/control_plane.hpp"
#include "eplb/group/board.hpp"

namespace eplb::group {

class BoardWriter;
class StatusLog;

/// A rank's control plane over the board of its host. Its calls may come from several threads, but
/// never two at once. The environment's clock must be CLOCK_MONOTONIC, as heard_ns() tells it.
///
/// try_take_sum adds up at most kAddsPerCall values a call, so that no call takes long; null may
/// thus also mean that it has yet to add. Sums of one kind must be started in ascending order, and
/// whoever starts a window's sum has given up those of earlier windows.
class BoardControlPlane final : public env::ControlPlane {
 public:
  static constexpr std::int64_t kAddsPerCall = std::int64_t{1} << 17U;

  /// The board must outlive it. There is one of a rank in all processes.
  BoardControlPlane(Board& board, RankId rank);
  ~BoardControlPlane() override;
  BoardControlPlane(const BoardControlPlane&) = delete;
  BoardControlPlane& operator=(const BoardControlPlane&) = delete;
  BoardControlPlane(BoardControlPlane&&) = delete;
  BoardControlPlane& operator=(BoardControlPlane&&) = delete;

  [[nodiscard]] RankId rank() const override { return rank_; }

  void post(const Status& status) override;
  [[nodiscard]] const Status* find(RankId rank, const RoundKey& key) const override;

  void post_retired(std::int64_t rearrangement, std::int32_t layers) override;
  [[nodiscard]] std::int32_t retired(RankId rank, std::int64_t rearrangement) const override;

  void post_heartbeat() override;
  [[nodiscard]] std::int64_t heard_ns(RankId rank) const override;

  void start_sum(const env::SumKey& key, std::span<const double> values) override;
  [[nodiscard]] std::shared_ptr<const std::vector<double>> try_take_sum(
      const env::SumKey& key) override;

  void end_group(const Failure& failure) override;
  [[nodiscard]] std::optional<Failure> group_failure() const override;

 private:
  /// What has come of a rank's statuses.
  struct Inbox;

  /// A sum as far as it was added up, in order of ranks.
  struct SumUnderWay {
    std::shared_ptr<std::vector<double>> sum;
    std::int32_t rank = 0;  ///< Whose values are next.
    std::size_t value = 0;  ///< The first of those that are not in it.
  };

  void take_in(Inbox& inbox) const;
  [[nodiscard]] bool add_up(const env::SumKey& key, SumUnderWay& under_way) const;
  void publish_taken(env::SumKey::Kind kind);

  Board& board_;
  RankId rank_;
  std::unique_ptr<BoardWriter> writer_;
  mutable std::vector<Inbox> inboxes_;   ///< By rank. find() reads what is new into them.
  std::array<RoundKey, 2> oldest_kept_;  ///< By channel.
  std::map<env::SumKey, SumUnderWay> sums_;
  std::array<std::int64_t, 2> next_sum_{};  ///< By kind: one past the highest index started.
};

}  // namespace eplb::group
