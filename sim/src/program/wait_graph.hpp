#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "eplb/sim/program/program_run.hpp"
#include "execution.hpp"

namespace eplb::sim {

/// Why something cannot go on.
enum class WaitReason : std::uint8_t {
  kStream,
  kQueue,  ///< The hardware queue that several streams share.
  kEvent,
  kPeer,
  kRoom,  ///< On the SMs.
  kGang,  ///< An earlier gang that waits for room.
  kExclusive,
  kSync,
  kMutex,
  kFlag,
  kBarrier,
  kMessage,
};

/// One thing that must happen before its owner goes on: any of `targets` will do, except that room
/// comes when enough of them have ended. Without targets it never happens.
struct WaitClause {
  WaitReason reason;
  std::vector<std::int32_t> targets;
  std::int32_t rank = kNone;  ///< Of the peer that is waited for.
};

/// Who waits for whom at one moment. Nodes are the host threads, then the live operations.
class WaitGraph {
 public:
  /// `execution` must outlive it, all threads having reached what they do next.
  explicit WaitGraph(const Execution& execution);

  /// Nodes that can never go on, by graph reduction: whatever can end is assumed to end, which
  /// frees what it holds, until nothing more can.
  [[nodiscard]] const std::vector<bool>& stuck() const { return stuck_; }

  [[nodiscard]] bool has_stuck() const;

  /// A shortest circle among the stuck, or what waits in vain first and then what waits for it.
  [[nodiscard]] Hang explain() const;

  /// For a node that could go on but is never let.
  [[nodiscard]] Hang explain_starved(std::int32_t node) const;

 private:
  [[nodiscard]] bool is_thread(std::int32_t node) const;
  [[nodiscard]] std::int32_t op_of(std::int32_t node) const;
  [[nodiscard]] std::int32_t node_of(std::int32_t op) const;
  [[nodiscard]] std::int32_t rank_of(std::int32_t node) const;
  void add_thread(std::int32_t thread);
  void add_op(std::int32_t op);
  void add_kernel(std::int32_t op);
  void add_peers(std::int32_t op);
  /// Threads of the rank, or of all if kNone, that may yet do it.
  template <typename Does>
  [[nodiscard]] std::vector<std::int32_t> threads_that_will(std::int32_t rank, Does does) const;
  void reduce();
  [[nodiscard]] bool is_met(std::int32_t node, const WaitClause& clause) const;
  /// Whether the clause is one that keeps the node from going on now.
  [[nodiscard]] bool is_told(std::int32_t node, const WaitClause& clause) const;
  [[nodiscard]] std::vector<std::int32_t> next_of(std::int32_t node) const;
  [[nodiscard]] std::vector<std::int32_t> shortest_circle() const;
  [[nodiscard]] const WaitClause* clause_to(std::int32_t node, std::int32_t target) const;
  [[nodiscard]] const WaitClause* vain_clause(std::int32_t node) const;
  [[nodiscard]] bool is_lost(std::int32_t thread) const;
  [[nodiscard]] Wait wait_of(std::int32_t node, const WaitClause& clause,
                             std::int32_t target) const;
  [[nodiscard]] std::string name_of(std::int32_t node) const;
  [[nodiscard]] std::string holds_of(std::int32_t node) const;
  [[nodiscard]] std::string target_text(std::int32_t node, const WaitClause& clause,
                                        std::int32_t target) const;
  [[nodiscard]] std::string vain_text(std::int32_t node, const WaitClause& clause) const;

  const Execution& execution_;
  std::vector<std::int32_t> nodes_of_ops_;  ///< By operation; kNone if it is done.
  std::vector<std::vector<WaitClause>> clauses_;
  std::vector<bool> stuck_;
};

/// What to change about a circle of waiting with these reasons.
[[nodiscard]] std::string advice_for(const std::vector<WaitReason>& reasons);

/// `kernel MegaMoE on stream forward`, `wait for event E on stream s`.
[[nodiscard]] std::string device_op_text(const CompiledProgram& program,
                                         const Instruction& instruction);
/// `locks mutex m`, of a host thread.
[[nodiscard]] std::string host_op_text(const CompiledProgram& program,
                                       const Instruction& instruction);

}  // namespace eplb::sim
