#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiled.hpp"
#include "eplb/sim/program/program_run.hpp"
#include "wait_graph.hpp"

namespace eplb::sim {

/// Who may have to wait for whom in some schedule of a program: the static counterpart of
/// WaitGraph.
///
/// Nodes are moments: a host operation is over; a device operation has started in full, or has
/// ended. Besides these, an operation that is in others' way is a node of its own: it holds room,
/// stands ahead in a shared queue, waits for room as a gang, or holds a mutex. What is in the way
/// has begun, so that this node waits only for what comes after its beginning; this is what keeps
/// "A is in B's way and B in A's", of which one schedule has at most one, from being a circle.
///
/// Some waiting is in every schedule ("must": stream, event and host order, peers), some depends on
/// an order that is free ("may"). What must come later cannot be in the way.
class MayGraph {
 public:
  explicit MayGraph(const CompiledProgram& program);

  [[nodiscard]] std::vector<Hazard> hazards() const;

 private:
  struct HostItem {
    std::int32_t thread;
    std::int32_t instruction;
    std::int32_t before = kNone;  ///< Node of the thread's operation before.
  };

  struct DeviceItem {
    std::int32_t host = 0;  ///< Node of the host operation that issues it.
    std::int32_t thread = 0;
    std::int32_t rank = 0;
    std::int32_t instruction = 0;
    std::int32_t stream_before = kNone;  ///< Device item that its own thread issued to the stream.
    std::int32_t queue_before = kNone;
  };

  /// A thread's or a kernel's coming to a barrier or its group.
  struct Arrival {
    std::int32_t thread;
    std::vector<std::int32_t> waiting;  ///< Nodes that wait for the peers.
    std::int32_t awaited;               ///< What peers wait for; kNone if it is there at once.
  };

  using Arrivals = std::vector<std::vector<Arrival>>;  ///< By rank.

  /// What one thread has issued last, by stream and by hardware queue.
  struct Ends {
    std::map<std::int32_t, std::int32_t> of_streams;
    std::map<std::int32_t, std::int32_t> of_queues;
  };

  struct Edge {
    std::int32_t to;
    WaitReason reason;
    bool is_free;  ///< Only in some schedules.
  };

  enum class Role : std::uint8_t { kStart, kEnd, kHold, kAhead, kGang };

  [[nodiscard]] std::int32_t node(std::int32_t device, Role role) const;
  [[nodiscard]] std::int32_t mutex_node(std::int32_t host) const;
  [[nodiscard]] const Instruction& instruction_of(std::int32_t host) const;
  [[nodiscard]] const Instruction& instruction_of(const DeviceItem& item) const;
  [[nodiscard]] const Kernel* kernel_of(std::int32_t device) const;
  [[nodiscard]] std::int32_t queue_of(std::int32_t device) const;

  void unroll();
  void unroll_thread(std::int32_t thread, std::int64_t rounds_max);
  void add_device(std::int32_t host, Ends& ends);
  void must(std::int32_t from, std::int32_t to, WaitReason reason);
  void may(std::int32_t from, std::int32_t to, WaitReason reason);
  void add_in_order();
  void add_records();
  void add_record_edges(std::int32_t waiter, std::int32_t event, std::int32_t waiter_host,
                        WaitReason reason);
  void add_syncs();
  void add_paired(Code giving, Code taking, WaitReason reason);
  void add_barriers();
  void add_groups();
  void add_meeting(const std::vector<std::int32_t>& ranks, const Arrivals& arrivals,
                   WaitReason reason);
  void add_peers(std::int32_t rank, const std::vector<Arrival>& own,
                 const std::vector<Arrival>& theirs, WaitReason reason);
  void add_free_orders();
  void add_group_orders();
  void add_mutexes();
  void add_lock(std::int32_t lock);
  [[nodiscard]] std::int32_t unlock_of(std::int32_t lock) const;
  void add_shared_queues();
  void add_room();
  void add_gangs();
  void add_late_shares();
  void close();
  /// In every schedule `from` comes after `to`.
  [[nodiscard]] bool needs(std::int32_t from, std::int32_t to) const;
  /// `other` can have begun and not ended while `device` has not started in full.
  [[nodiscard]] bool can_be_in_the_way(std::int32_t other, std::int32_t device) const;
  [[nodiscard]] std::vector<std::int32_t> rivals_of(std::int32_t device) const;
  [[nodiscard]] bool fits_beside(std::int32_t device,
                                 const std::vector<std::int32_t>& rivals) const;
  /// Whether it fits when of each stream (key) this device item is on the SMs.
  [[nodiscard]] bool fits_after(std::int32_t device,
                                const std::map<std::int32_t, std::int32_t>& present) const;

  [[nodiscard]] Hazard hazard_of(const std::vector<std::int32_t>& circle) const;
  [[nodiscard]] const Edge& edge(std::int32_t from, std::int32_t to) const;
  [[nodiscard]] std::int32_t owner_of(std::int32_t node) const;
  [[nodiscard]] std::int32_t rank_of(std::int32_t node) const;
  [[nodiscard]] std::string text_of(std::int32_t node) const;
  [[nodiscard]] std::string holds_of(std::int32_t node) const;

  const CompiledProgram& program_;
  bool is_cut_ = false;  ///< Repeats were not unrolled in full.
  std::vector<HostItem> hosts_;
  std::vector<DeviceItem> devices_;
  std::vector<std::vector<Edge>> edges_;
  std::vector<std::vector<bool>> closure_;
  std::vector<Hazard> found_;  ///< Those that are no circles.
};

}  // namespace eplb::sim
