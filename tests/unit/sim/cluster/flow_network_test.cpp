// Goal: flows end when their amounts have gone at the shares that they had. Method: one port of 100
// bytes/ns, ends worked by hand.
#include "eplb/sim/cluster/flow_network.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <map>

#include "fixed_timing.hpp"

namespace eplb::sim {
namespace {

struct World final : FlowOwner {
  EventEngine engine;
  FlowNetwork network{engine};
  ResourceId port = network.add_resource(100);
  std::map<std::int64_t, std::int64_t> ended_ns;

  void flow_ended(std::int64_t token) override { ended_ns[token] = engine.now_ns(); }

  void start(std::int64_t token, double amount, std::int64_t latency_ns = 0) {
    network.start({.uses = {{.resource = port, .amount = 1}}}, amount, latency_ns, *this, token);
  }
};

TEST_CASE("alone a flow takes its latency and then its bytes") {
  World world;
  world.start(1, 5000, 30);
  test::run_all(world.engine);
  CHECK(world.ended_ns[1] == 80);
}

TEST_CASE("latency takes nothing of the port, and an empty flow has only that") {
  World world;
  world.start(1, 5000);
  world.start(2, 5000, 200);
  world.start(3, 0, 7);
  test::run_all(world.engine);
  CHECK(world.ended_ns[1] == 50);
  CHECK(world.ended_ns[2] == 250);
  CHECK(world.ended_ns[3] == 7);
}

TEST_CASE("a shorter flow that shares leaves the longer one what it has not used") {
  World world;
  world.start(1, 2000);
  world.start(2, 6000);
  test::run_all(world.engine);
  CHECK(world.ended_ns[1] == 40);
  // 2000 bytes by then, and 4000 at the full rate.
  CHECK(world.ended_ns[2] == 80);
}

TEST_CASE("a flow that comes later slows the one under way from then on") {
  World world;
  world.start(1, 6000);
  world.start(2, 6000, 20);
  test::run_all(world.engine);
  CHECK(world.ended_ns[1] == 20 + 80);
  CHECK(world.ended_ns[2] == 120);
}

TEST_CASE("a port that fails for a while stops what flows through it, and nothing is lost") {
  World world;
  world.start(1, 5000);

  struct Fault final : EventHandler {
    World* world = nullptr;

    void on_event(const Event& event) override {
      world->network.set_capacity(world->port, static_cast<double>(event.argument));
    }
  } fault;

  fault.world = &world;
  world.engine.schedule(20, Phase::kStart, fault, 0);
  world.engine.schedule(1000, Phase::kStart, fault, 50);
  test::run_all(world.engine);
  CHECK(world.ended_ns[1] == 1060);
}

TEST_CASE("a flow may start another when it ends, in its own place") {
  struct Chain final : FlowOwner {
    World world;
    std::int64_t ends = 0;

    void flow_ended(std::int64_t token) override {
      ++ends;
      if (token > 0) {
        world.network.start({.uses = {{.resource = world.port, .amount = 1}}}, 1000, 0, *this,
                            token - 1);
      }
    }
  } chain;

  chain.world.network.start({.uses = {{.resource = chain.world.port, .amount = 1}}}, 1000, 0, chain,
                            3);
  test::run_all(chain.world.engine);
  CHECK(chain.ends == 4);
  CHECK(chain.world.engine.now_ns() == 40);
  CHECK(chain.world.network.flow_count() == 4);
}

}  // namespace
}  // namespace eplb::sim
