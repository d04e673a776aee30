#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string_view>
#include <variant>
#include <vector>

#include "eplb/core/env/queue.hpp"
#include "eplb/sim/event_engine.hpp"
#include "eplb/sim/group/carrier.hpp"
#include "eplb/sim/group/group_trace.hpp"
#include "eplb/sim/group/host.hpp"
#include "eplb/sim/group/row_store.hpp"

namespace eplb::sim {

/// A queue of one rank, as a CUDA stream behaves: in order, and a wait for a mark that was not yet
/// appended is no wait. After a failed copy nothing runs any more.
class SimQueue final : public env::Queue, private EventHandler, private CarrierClient {
 public:
  SimQueue(EventEngine& engine, RowStore& rows, Carrier& carrier, Host& host)
      : engine_(engine), rows_(rows), carrier_(carrier), host_(host) {}

  /// Shows the queue's copies under this name of the rank's.
  void show(GroupTrace& trace, RankId rank, std::string_view name) {
    shown_ = {.trace = &trace, .rank = rank, .name = name};
  }

  void copy(std::span<const RowCopy> copies) override;
  [[nodiscard]] env::Ticket signal() override;
  void wait(const env::Queue& other, env::Ticket ticket) override;
  [[nodiscard]] env::Completion poll(env::Ticket ticket) const override;

  /// Appends something that takes a while and then has its effect.
  void call(std::int64_t duration_ns, std::function<void()> effect);

  /// Appends a forward: it tells the host when it is reached, and lasts until finish_forward.
  void forward();
  void finish_forward();

  /// The rank is gone: nothing runs any more.
  void halt() { halted_ = true; }

 private:
  struct Copies {
    std::vector<RowCopy> copies;
  };

  struct Mark {
    env::Ticket ticket;
  };

  struct Wait {
    const SimQueue* queue;
    env::Ticket ticket;
  };

  struct Call {
    std::int64_t duration_ns;
    std::function<void()> effect;
  };

  struct Forward {};

  using Operation = std::variant<Copies, Mark, Wait, Call, Forward>;

  void on_event(const Event& event) override;
  void row_carried(std::int64_t token, bool failed) override;
  void end_front();
  void append(Operation operation);
  void run();
  void fail();
  void resume_waiters();
  /// True if the operation at the front has already ended.
  [[nodiscard]] bool begin(const Operation& operation);

  struct Shown {
    GroupTrace* trace = nullptr;
    RankId rank{-1};
    std::string_view name;
  };

  EventEngine& engine_;
  RowStore& rows_;
  Carrier& carrier_;
  Host& host_;
  std::deque<Operation> operations_;
  bool busy_ = false;  ///< The front has begun and not ended.
  std::size_t copies_under_way_ = 0;
  std::int64_t copies_since_ns_ = 0;
  Shown shown_;
  bool any_copy_failed_ = false;
  bool failed_ = false;
  bool halted_ = false;
  env::Ticket issued_;
  env::Ticket reached_;
  mutable std::vector<SimQueue*> waiters_;
};

}  // namespace eplb::sim
