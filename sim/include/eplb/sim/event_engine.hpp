#pragma once

#include <compare>
#include <cstdint>
#include <vector>

namespace eplb::sim {

/// Order of events at one time: what ends comes before what begins.
enum class Phase : std::uint8_t {
  kCompletion,
  kStart,
};

class EventHandler;

struct Event {
  std::int64_t time_ns;
  Phase phase;
  std::uint64_t sequence;  ///< Order of scheduling; breaks the last ties.
  EventHandler* handler;
  std::int64_t argument;  ///< Of the handler's own meaning.
};

class EventHandler {
 public:
  EventHandler() = default;
  EventHandler(const EventHandler&) = delete;
  EventHandler& operator=(const EventHandler&) = delete;
  EventHandler(EventHandler&&) = delete;
  EventHandler& operator=(EventHandler&&) = delete;
  virtual ~EventHandler() = default;

  virtual void on_event(const Event& event) = 0;
};

/// The future of the simulated world: a binary heap ordered by (time, phase, sequence).
class EventEngine {
 public:
  /// Reserves room for `pending_count_max` events; more only cost an allocation.
  explicit EventEngine(std::size_t pending_count_max = 1024);

  /// `time_ns` must not lie in the past. The handler must outlive the event.
  void schedule(std::int64_t time_ns, Phase phase, EventHandler& handler, std::int64_t argument);

  /// Moves time to the next event and hands it out. False if nothing is pending.
  bool run_next();

  [[nodiscard]] std::int64_t now_ns() const { return now_ns_; }

  [[nodiscard]] std::size_t pending_count() const { return heap_.size(); }

  [[nodiscard]] std::uint64_t handled_count() const { return handled_count_; }

 private:
  std::vector<Event> heap_;
  std::int64_t now_ns_ = 0;
  std::uint64_t next_sequence_ = 0;
  std::uint64_t handled_count_ = 0;
};

}  // namespace eplb::sim
