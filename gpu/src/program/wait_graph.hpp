#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "board.hpp"
#include "eplb/gpu/program/outcome.hpp"
#include "launch_record.hpp"
#include "script.hpp"

namespace eplb::gpu::program {

/// All that is known of a run that a limit ended.
struct Observation {
  const Script& script;
  const BoardState& board;
  const std::vector<LaunchRecord>& records;     ///< By launch.
  const std::vector<std::int32_t>& devices;     ///< By rank.
  const std::vector<std::int64_t>& offsets_ns;  ///< By rank: from its GPU's clock to the start.
  std::int32_t sm_count = 0;
  std::int64_t over_ns = 0;    ///< When the first limit ran out.
  std::int64_t settle_ns = 0;  ///< What was issued less than this before was about to begin.
};

/// What every thread and launch of an ended run waited for, and which of them could never go on.
class WaitGraph {
 public:
  explicit WaitGraph(const Observation& observation);

  /// None if all that waited would have gone on: the limit was too short for the program.
  [[nodiscard]] std::optional<Hang> explain() const;

  /// What a launch waited for, or nothing.
  [[nodiscard]] std::string launch_waits_for(std::int32_t launch) const;

  /// As a link of an explanation names it.
  [[nodiscard]] std::string launch_name(std::int32_t launch) const;

 private:
  enum class Reason : std::uint8_t {
    kStream,
    kEvent,
    kRoom,
    kPeer,
    kExclusive,
    kSync,
    kMutex,
    kFlag,
    kBarrier,
    kMessage,
  };

  /// One thing that a node waits for. It comes if any of the targets goes on; of room if all do.
  struct Clause {
    Reason reason = Reason::kSync;
    std::vector<std::int32_t> targets = {};  ///< Nodes; none: it never comes.
    std::int32_t rank = kNone;               ///< Of a peer, a barrier or a message.
  };

  [[nodiscard]] bool is_thread(std::int32_t node) const;
  [[nodiscard]] std::int32_t node_of(std::int32_t launch) const;
  [[nodiscard]] std::int32_t launch_of(std::int32_t node) const;
  [[nodiscard]] std::int32_t rank_of(std::int32_t node) const;
  [[nodiscard]] const LaunchRecord& record_of(std::int32_t launch) const;
  [[nodiscard]] const IssuedOp& op_of(std::int32_t launch) const;
  [[nodiscard]] const Instruction& instruction_of(const IssuedOp& op) const;
  [[nodiscard]] const Instruction& next_of(std::int32_t thread) const;
  [[nodiscard]] bool is_unfinished(std::int32_t launch) const;

  /// The launches that an operation waits for before it can begin or, itself, end.
  [[nodiscard]] std::vector<std::int32_t> blockers(std::int32_t op) const;
  [[nodiscard]] std::vector<std::int32_t> threads_that_will(std::int32_t rank, Code code,
                                                            std::int32_t object) const;
  void add_thread(std::int32_t thread);
  void add_sync(std::int32_t thread);
  void add_launch(std::int32_t launch);
  void add_peers(std::int32_t launch);
  void add_room(std::int32_t launch);
  void reduce();

  [[nodiscard]] bool is_met(const Clause& clause) const;
  [[nodiscard]] std::vector<std::int32_t> stuck_targets(std::int32_t node) const;
  [[nodiscard]] std::vector<std::int32_t> shortest_circle() const;
  [[nodiscard]] const Clause* clause_to(std::int32_t node, std::int32_t target) const;
  [[nodiscard]] const Clause* vain_clause(std::int32_t node) const;
  [[nodiscard]] bool is_lost(std::int32_t node) const;
  [[nodiscard]] bool others_go_on() const;
  [[nodiscard]] Hang explain_circle(const std::vector<std::int32_t>& circle) const;
  [[nodiscard]] Hang explain_vain() const;

  [[nodiscard]] std::int64_t waiting_since_ns(std::int32_t node) const;
  [[nodiscard]] Wait wait_of(std::int32_t node, const Clause& clause, std::int32_t target) const;
  [[nodiscard]] std::string name_of(std::int32_t node) const;
  [[nodiscard]] std::string holds_of(std::int32_t node) const;
  [[nodiscard]] std::string target_text(std::int32_t node, const Clause& clause,
                                        std::int32_t target) const;
  [[nodiscard]] std::string vain_text(std::int32_t node, const Clause& clause) const;

  Observation observation_;
  std::vector<std::vector<Clause>> clauses_;  ///< By node.
  std::vector<bool> stuck_;                   ///< By node.
};

/// A shortest circle of a graph given by the successors of each node; empty if there is none.
[[nodiscard]] std::vector<std::int32_t> shortest_circle_of(
    const std::vector<std::vector<std::int32_t>>& next);

}  // namespace eplb::gpu::program
