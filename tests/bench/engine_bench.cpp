// Goal: events a second that the simulator's engine handles. Method: the hold model: so many events
// are pending, each that is handled schedules another at a random time ahead, so that the number
// stays. The times are drawn before, so that only the engine is measured.
#include <benchmark/benchmark.h>

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>
#include <cstdint>
#include <vector>

#include "eplb/sim/event_engine.hpp"

namespace eplb::sim {
namespace {

constexpr std::size_t kDelays = 1 << 16;

class Holder final : public EventHandler {
 public:
  explicit Holder(EventEngine& engine) : engine_(engine) {
    boost::random::mt19937_64 random(1);
    boost::random::uniform_int_distribution<std::int64_t> delay(1, 1'000'000);
    for (std::size_t index = 0; index < kDelays; ++index) {
      delays_.push_back(delay(random));
    }
  }

  void add() {
    const std::int64_t delay_ns = delays_[next_++ % kDelays];
    engine_.schedule(engine_.now_ns() + delay_ns, Phase::kStart, *this, 0);
  }

  void on_event(const Event& /*event*/) override { add(); }

 private:
  EventEngine& engine_;
  std::vector<std::int64_t> delays_;
  std::size_t next_ = 0;
};

void engine_holds(benchmark::State& state) {
  EventEngine engine;
  Holder holder(engine);
  for (std::int64_t event = 0; event < state.range(0); ++event) {
    holder.add();
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(engine.run_next());
  }
  state.SetItemsProcessed(state.iterations());
}

BENCHMARK(engine_holds)->Arg(64)->Arg(1'000)->Arg(10'000);

}  // namespace
}  // namespace eplb::sim
