#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

#include "script.hpp"

namespace eplb::gpu::program {

/// How far a host thread came.
struct ThreadState {
  std::int32_t next = 0;        ///< Instruction; past the last one when it has ended.
  bool is_waiting = false;      ///< It waited there when the run was over.
  std::int64_t waiting_ns = 0;  ///< Since when, from the start.
  std::int64_t arrival = 0;     ///< At the barrier that is next: the how manieth of its rank.
};

/// Something enqueued to a stream.
struct IssuedOp {
  std::int32_t thread = 0;
  std::int32_t instruction = 0;
  std::int32_t rank = 0;
  std::int32_t stream_before = kNone;  ///< What its stream does before.
  std::int32_t awaited = kNone;        ///< Of a wait: the record that it captured.
  std::int32_t launch = kNone;         ///< Of a kernel: the how manieth launch of the run.
  std::int64_t meeting = 0;            ///< Of a rendezvous: the how manieth of its group.
  std::int64_t issued_ns = 0;          ///< From the start.
};

/// What the host knows of a run.
struct BoardState {
  std::vector<ThreadState> threads = {};
  std::vector<IssuedOp> ops = {};           ///< In the order of their issue.
  std::vector<std::int32_t> launches = {};  ///< Index into `ops` of each launch.
  std::vector<std::int32_t> mutex_holders = {};
  std::vector<std::int64_t> flags = {};
  std::vector<std::int64_t> messages = {};               ///< By channel.
  std::vector<std::vector<std::int64_t>> arrivals = {};  ///< [barrier][rank]
  std::int64_t host_operation_count = 0;
  std::int64_t over_ns = kNone;  ///< When a thread first saw that the run was over.
};

/// The host's side of a run: mutexes, flags, messages and barriers of the program, the order in
/// which operations are enqueued, and the waits, all of which poll and end at the limit.
///
/// Threads use it at once. Whoever waits for longer than the limit raises the word `is_over`, which
/// kernels raise too; every wait then fails, and its thread does nothing more.
class Board {
 public:
  /// `script` and `is_over` outlive it.
  Board(const Script& script, std::int64_t limit_ns, std::int32_t& is_over);

  [[nodiscard]] std::int64_t now_ns() const;  ///< From the start.

  [[nodiscard]] bool is_over() const;
  void end_run();

  /// The thread has done what it stood at, and stands at an instruction, or at its end.
  void reach(std::int32_t thread, std::size_t instruction);

  /// Does what concerns the host alone. False if the run was over first, or the limit ran out.
  [[nodiscard]] bool pass(std::int32_t thread, const Instruction& instruction);

  /// Waits until `is_met`, which is asked every few microseconds under the board's lock. False if
  /// the run was over first, or the limit ran out.
  [[nodiscard]] bool wait(std::int32_t thread, const std::function<bool()>& is_met);

  /// Notes that a thread enqueues what it stands at and has `enqueue` do so, in one order for all
  /// threads.
  void issue(std::int32_t thread, const std::function<void(const IssuedOp&)>& enqueue);

  [[nodiscard]] std::size_t launch_count();

  /// When no thread runs any more.
  [[nodiscard]] const BoardState& state() const { return state_; }

 private:
  /// False if the wait that began then has to end.
  [[nodiscard]] bool may_wait_on(std::int64_t begin_ns);
  [[nodiscard]] std::function<bool()> condition_of(std::int32_t thread,
                                                   const Instruction& instruction);

  const Script& script_;
  std::int64_t limit_ns_;
  std::int32_t& is_over_;
  std::chrono::steady_clock::time_point start_;
  std::mutex mutex_;  ///< Of all that follows.
  BoardState state_;
  std::vector<std::int32_t> stream_ends_;            ///< The last operation of each stream.
  std::vector<std::int32_t> records_;                ///< The last record of each event.
  std::vector<std::vector<std::int64_t>> meetings_;  ///< Launches, [group][rank].
};

}  // namespace eplb::gpu::program
