#pragma once

#include <cstdint>
#include <vector>

#include "compiled.hpp"
#include "eplb/core/digest.hpp"
#include "eplb/sim/program/sm_pool.hpp"

namespace eplb::sim {

/// How far an operation of a GPU has come.
enum class DeviceState : std::uint8_t {
  kQueued,   ///< In its hardware queue; of a kernel perhaps with some CTAs resident.
  kRunning,  ///< Started in full and out of its queue.
  kDone,
};

/// CTAs that came to the SMs together; of a plain kernel they also end together.
struct CtaBatch {
  std::vector<CtaPlacement> placements;
  bool is_running = true;
};

/// Something issued to a stream.
struct DeviceOp {
  std::int32_t thread = 0;
  std::int64_t ordinal = 0;  ///< Among what its thread issued.
  std::int32_t instruction = 0;
  std::int32_t rank = 0;
  std::int32_t stream_before = kNone;  ///< What its stream must have done before.
  std::int32_t awaited = kNone;        ///< Of a wait: the record that it captured.
  std::int64_t meeting = 0;            ///< Of a rendezvous: the how manieth of its group.
  std::int32_t unplaced = 0;           ///< CTAs that are yet to become resident.
  DeviceState state = DeviceState::kQueued;
  std::vector<CtaBatch> batches = {};
};

/// Something that can happen next.
struct Step {
  enum class Kind : std::uint8_t {
    kReach,  ///< A thread reaches a sync, which is when the sync notes what it waits for.
    kHost,
    kStart,
    kEnd,
  };

  Kind kind;
  std::int32_t index;      ///< Of the thread or the device operation.
  std::int32_t batch = 0;  ///< Of an end.
};

/// A program underway, without time: what has happened, and what can happen next. The timed run
/// takes its steps when they are due; the exhaustive search takes them in every order. It is a
/// value, so that a search may copy it.
class Execution {
 public:
  /// `program` must outlive it and its copies.
  explicit Execution(const CompiledProgram& program);

  struct ThreadState {
    std::int32_t next = 0;  ///< Instruction; past the last one when the thread has ended.
    std::int64_t issued = 0;
    bool has_arrived = false;                ///< At the barrier that is its next instruction.
    std::int64_t arrival = 0;                ///< The how manieth of its rank.
    std::vector<std::int32_t> awaited = {};  ///< What the sync that is next waits for.
    std::vector<std::int64_t> rounds = {};   ///< Of each repeat underway, by depth.
  };

  [[nodiscard]] const CompiledProgram& program() const { return *program_; }

  [[nodiscard]] const std::vector<ThreadState>& threads() const { return threads_; }

  [[nodiscard]] const DeviceOp& op(std::int32_t index) const {
    return ops_[static_cast<std::size_t>(index)];
  }

  [[nodiscard]] std::size_t op_count() const { return ops_.size(); }

  /// Operations that are not done, in the order of their issue.
  [[nodiscard]] const std::vector<std::int32_t>& live_ops() const { return live_; }

  [[nodiscard]] const Instruction& instruction_of(const DeviceOp& op) const;
  [[nodiscard]] const Kernel* kernel_of(const DeviceOp& op) const;  ///< Null if it is none.
  [[nodiscard]] std::int32_t queue_of(const DeviceOp& op) const;

  /// A host thread reaches its next instruction: it arrives at a barrier, and a sync notes what it
  /// waits for. Needed once before can_take of a host step; idempotent.
  void reach(std::int32_t thread);

  [[nodiscard]] bool has_ended(std::int32_t thread) const;
  [[nodiscard]] bool can_continue(std::int32_t thread) const;
  [[nodiscard]] bool can_start(std::int32_t op) const;
  [[nodiscard]] bool can_end(std::int32_t op, std::int32_t batch) const;

  void take(const Step& step);

  /// All that can happen next. Threads that stand before anything but a sync reach it first.
  [[nodiscard]] std::vector<Step> steps();
  /// The instruction that a thread, which has not ended, does next.
  [[nodiscard]] const Instruction& next_of(std::int32_t thread) const;

  /// Nothing is left to do.
  [[nodiscard]] bool is_finished() const;

  // What an explanation asks.
  [[nodiscard]] bool is_done(std::int32_t op) const {
    return op == kNone || ops_[static_cast<std::size_t>(op)].state == DeviceState::kDone;
  }

  [[nodiscard]] const std::vector<std::int32_t>& queue(std::int32_t queue) const {
    return queues_[static_cast<std::size_t>(queue)];
  }

  /// Whether an earlier gang that waits for room keeps the kernel `op` out; that gang, or kNone.
  [[nodiscard]] std::int32_t barring_gang(std::int32_t op) const;
  /// A running kernel that holds what `op` needs alone, or kNone.
  [[nodiscard]] std::int32_t exclusive_holder(std::int32_t op) const;
  /// All but room is there for it to start.
  [[nodiscard]] bool is_ready(std::int32_t op) const;
  [[nodiscard]] bool fits(std::int32_t op, const SmPool& pool) const;

  [[nodiscard]] const SmPool& pool(std::int32_t rank) const {
    return pools_[static_cast<std::size_t>(rank)];
  }

  [[nodiscard]] std::int32_t mutex_holder(std::int32_t mutex) const {
    return mutex_holders_[static_cast<std::size_t>(mutex)];
  }

  /// The operation of `rank` in the same meeting as `op`, or kNone if it is not issued yet.
  [[nodiscard]] std::int32_t peer(const DeviceOp& op, std::int32_t rank) const;
  [[nodiscard]] std::int64_t arrivals(std::int32_t barrier, std::int32_t rank) const;

  /// Equal for executions that have the same future.
  void add_to(Digest& digest) const;

 private:
  /// An operation is told by its thread and ordinal: its index depends on the order of issue.
  void add_op_name(std::int32_t op, Digest& digest) const;
  void add_live_ops(Digest& digest) const;
  void take_host(std::int32_t thread);
  void issue(std::int32_t thread, const Instruction& instruction);
  void advance(std::int32_t thread);
  void start(std::int32_t op);
  void end(std::int32_t op, std::int32_t batch);
  void finish(std::int32_t op);
  [[nodiscard]] bool all_peers_resident(const DeviceOp& op) const;

  const CompiledProgram* program_;
  std::vector<ThreadState> threads_;
  std::vector<DeviceOp> ops_;
  std::vector<std::int32_t> live_;
  std::vector<std::vector<std::int32_t>> queues_;  ///< Not yet started, by hardware queue.
  std::vector<std::int32_t> stream_ends_;          ///< The last operation issued to each stream.
  std::vector<std::int32_t> records_;              ///< The last record of each event.
  std::vector<SmPool> pools_;
  std::vector<std::int32_t> mutex_holders_;
  std::vector<std::int64_t> flags_;
  std::vector<std::int64_t> messages_;
  std::vector<std::vector<std::int64_t>> arrivals_;                ///< [barrier][rank]
  std::vector<std::vector<std::vector<std::int32_t>>> group_ops_;  ///< [group][rank][n]
};

}  // namespace eplb::sim
