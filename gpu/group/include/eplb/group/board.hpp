#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "eplb/core/env/control_plane.hpp"
#include "eplb/core/failure.hpp"
#include "eplb/core/ids.hpp"
#include "eplb/core/result.hpp"
#include "eplb/core/shape.hpp"
#include "eplb/group/shared_memory.hpp"

namespace eplb::group {

struct BoardHeader;
struct RankRecord;
struct StatusRecord;
struct SumSlot;

/// The most values that a sum of each kind has.
struct SumSizes {
  std::int64_t window_values_max = 0;
  std::int64_t balancedness_values_max = 0;

  /// What a balancer of this shape asks for: `window_parts` x layers x experts, and layers x ranks.
  [[nodiscard]] static SumSizes of(const Shape& shape, std::int32_t window_parts);

  friend bool operator==(const SumSizes&, const SumSizes&) = default;
};

/// Equal in all processes that share the board.
struct BoardOptions {
  std::string name;             ///< To read, in /proc: user and run.
  std::int32_t rank_count = 1;  ///< Of the EP group.
  SumSizes sums = {};
  std::vector<RankId> local_ranks;  ///< Whose processes share the board.
  /// Whether a Bridge carries what is written here to other hosts' boards, and theirs to here.
  bool bridged = false;
  /// Whether the first failure written here is the group's. Of a group's boards just one decides;
  /// the others propose to it, and are told.
  bool decides = true;
};

/// Memory in which the ranks of a host see each other's control plane: anonymous, so that it goes
/// with the last process that has it, however that ends, and there is nothing to clean up.
///
/// NOTE [board records] Whatever changes has one writer: a rank, or the bridge for a rank of
/// another host. Statuses are a log of records, each with its number in the log before and after it
/// is written; values of a sum are published by the key of their slot, and written over only once
/// every reader is past that key. Only the failure has many writers, and is one word that the first
/// compare-and-swap sets.
class Board {
 public:
  /// kInvalidArgument or kResourceExhausted.
  [[nodiscard]] static Result<std::unique_ptr<Board>> create(const BoardOptions& options);

  /// Maps the board that another process of this user and host has created, given its number for
  /// it. kPeerFailed if it is not there, kInvalidConfig if it was made with other options.
  [[nodiscard]] static Result<std::unique_ptr<Board>> open(const BoardOptions& options,
                                                           std::int64_t owner_pid,
                                                           int owner_descriptor);

  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;
  Board(Board&&) = delete;
  Board& operator=(Board&&) = delete;

  [[nodiscard]] const BoardOptions& options() const { return options_; }

  /// What open() of another process needs.
  [[nodiscard]] int descriptor() const { return memory_.descriptor(); }

  [[nodiscard]] std::int64_t bytes() const { return bytes_; }

  /// Ends the group if nothing has; where others decide, proposes it to them.
  void end(const Failure& failure);

  /// As the group has decided; none while it lives.
  [[nodiscard]] std::optional<Failure> failure() const;

  /// This rank says goodbye: its process' end is no loss.
  void leave(RankId rank);
  [[nodiscard]] bool has_left(RankId rank) const;

  /// This rank has come to a step, as StepBarrier counts them.
  void come_to_step(RankId rank, std::int64_t step);
  [[nodiscard]] std::int64_t step_of(RankId rank) const;

  // For the bridge.

  /// Sets the failure whoever decides. False if there was one.
  bool decide(const Failure& failure);

  /// The first failure that was proposed here.
  [[nodiscard]] std::optional<Failure> proposal() const;

  /// Tells a bridge that something was written.
  void announce();

  /// How often that was done; wraps around.
  [[nodiscard]] std::uint32_t announcements() const;

  /// Sleeps until that number is another, at most so long.
  void wait_for_announcement(std::uint32_t seen, std::int64_t limit_ms) const;

  // For the ranks' control planes: where things are.

  static constexpr std::int64_t kStatusesKept = 256;

  /// Readers of sums: ranks, and after them the bridge.
  [[nodiscard]] std::int32_t reader_count() const { return options_.rank_count + 1; }

  [[nodiscard]] RankRecord& reader_record(std::int32_t reader) const;

  [[nodiscard]] RankRecord& rank_record(RankId rank) const { return reader_record(rank.value); }

  /// Record of the log's `number`-th status, which takes the place of one kStatusesKept before.
  [[nodiscard]] StatusRecord& status_record(RankId rank, std::int64_t number) const;

  [[nodiscard]] static std::int32_t slot_count(env::SumKey::Kind kind);
  [[nodiscard]] SumSlot& sum_slot(RankId rank, env::SumKey::Kind kind, std::int32_t slot) const;
  /// As many as a sum of the kind has at most.
  [[nodiscard]] std::span<double> sum_values(RankId rank, env::SumKey::Kind kind,
                                             std::int32_t slot) const;

 private:
  explicit Board(BoardOptions options);

  void begin();
  [[nodiscard]] std::int64_t values_max(env::SumKey::Kind kind) const;
  [[nodiscard]] std::int64_t slot_bytes(env::SumKey::Kind kind) const;
  [[nodiscard]] std::int64_t slot_offset(RankId rank, env::SumKey::Kind kind,
                                         std::int32_t slot) const;
  [[nodiscard]] BoardHeader& header() const;

  template <typename Record>
  [[nodiscard]] Record& at(std::int64_t offset) const;

  BoardOptions options_;
  SharedMemory memory_;
  std::int64_t bytes_ = 0;
};

}  // namespace eplb::group
