// Goal: events come in the order (time, phase, sequence), and the loop allocates nothing.
// Method: a handler that logs what it is given, and one that schedules itself again.
#include "eplb/sim/event_engine.hpp"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "allocation_count.hpp"

namespace eplb::sim {
namespace {

class Log final : public EventHandler {
 public:
  void on_event(const Event& event) override { seen.emplace_back(event.time_ns, event.argument); }

  std::vector<std::pair<std::int64_t, std::int64_t>> seen;
};

TEST_CASE("events are ordered by time, then phase, then the order of scheduling") {
  EventEngine engine;
  Log log;
  engine.schedule(20, Phase::kStart, log, 1);
  engine.schedule(10, Phase::kStart, log, 2);
  engine.schedule(10, Phase::kStart, log, 3);
  engine.schedule(10, Phase::kCompletion, log, 4);
  engine.schedule(0, Phase::kStart, log, 5);
  while (engine.run_next()) {
  }
  using Seen = std::vector<std::pair<std::int64_t, std::int64_t>>;
  CHECK(log.seen == Seen{{0, 5}, {10, 4}, {10, 2}, {10, 3}, {20, 1}});
  CHECK(engine.now_ns() == 20);
  CHECK(engine.handled_count() == 5);
}

class Ticker final : public EventHandler {
 public:
  explicit Ticker(EventEngine& engine) : engine_(engine) {}

  void on_event(const Event& event) override {
    engine_.schedule(event.time_ns + event.argument, Phase::kStart, *this, event.argument);
  }

 private:
  EventEngine& engine_;
};

TEST_CASE("the loop allocates nothing") {
  EventEngine engine(64);
  Ticker ticker(engine);
  for (std::int64_t period = 1; period <= 64; ++period) {
    engine.schedule(period, Phase::kStart, ticker, period);
  }
  const std::int64_t before = test::allocation_count();
  for (int i = 0; i < 10000; ++i) {
    REQUIRE(engine.run_next());
  }
  CHECK(test::allocation_count() == before);
  CHECK(engine.pending_count() == 64);
}

}  // namespace
}  // namespace eplb::sim
