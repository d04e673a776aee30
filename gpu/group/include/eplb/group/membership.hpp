#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "eplb/group/board.hpp"
#include "eplb/group/board_control_plane.hpp"
#include "eplb/group/loss_monitor.hpp"
#include "eplb/group/rendezvous.hpp"
#include "eplb/group/step_barrier.hpp"

namespace eplb::group {

class Bridge;

/// This process' part in an EP group: the others are known, each of its ranks can have a control
/// plane, and the loss of a process ends the group on all ranks.
class Membership {
 public:
  /// Joins the other processes. All get the same error: as Rendezvous::join, or why the board of
  /// one host could not be made or opened.
  [[nodiscard]] static Result<std::unique_ptr<Membership>> join(const RendezvousOptions& options,
                                                                const SumSizes& sums);

  /// A group whose ranks are all threads of this process.
  [[nodiscard]] static Result<std::unique_ptr<Membership>> alone(std::int32_t rank_count,
                                                                 const SumSizes& sums);

  /// Ends what leave() has not ended, which the others then take for a loss.
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;
  Membership(Membership&&) = delete;
  Membership& operator=(Membership&&) = delete;

  /// All processes of the group, by their lowest rank, and which of them this one is.
  [[nodiscard]] const std::vector<Member>& members() const { return members_; }

  [[nodiscard]] std::size_t own_index() const { return own_index_; }

  /// As Rendezvous has it.
  [[nodiscard]] Result<std::vector<std::vector<std::byte>>> exchange(
      std::span<const std::byte> mine, std::int64_t deadline_ms);
  [[nodiscard]] Result<void> barrier(std::int64_t deadline_ms);

  /// Of a rank of this process; once each. The membership must outlive it.
  [[nodiscard]] std::unique_ptr<BoardControlPlane> control_plane(RankId rank);

  /// Of a rank of this process; once each. The membership must outlive it.
  [[nodiscard]] StepBarrier step_barrier(RankId rank) { return {*board_, rank}; }

  [[nodiscard]] const Board& board() const { return *board_; }

  /// A clean goodbye of all this process' ranks, after which its end is no loss. Where hosts are
  /// joined through this process it waits for the others' goodbye, at most so long.
  void leave(std::int64_t deadline_ms = 5'000);

 private:
  Membership() = default;

  [[nodiscard]] Result<void> open_board(const RendezvousOptions& options, const SumSizes& sums);
  [[nodiscard]] Result<void> watch_host();

  std::unique_ptr<Rendezvous> rendezvous_;  ///< None if it is alone.
  std::vector<Member> members_;
  std::size_t own_index_ = 0;
  // In the order in which they need each other.
  std::unique_ptr<Board> board_;
  std::unique_ptr<Bridge> bridge_;
  std::unique_ptr<LossMonitor> monitor_;
};

}  // namespace eplb::group
