// Goal: what a step commits and what flies at once can be bounded. Method: rank 0 of two whose
// transfers all land at once, so that only the bounds hold layers back.
#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "balancer_fixture.hpp"
#include "print_vector.hpp"

namespace eplb {
namespace {

using test::BalancerFixture;

TEST_CASE("with one layer in flight one layer commits a step") {
  EplbOptions options = test::small_options();
  options.layers_in_flight = 1;
  BalancerFixture f(options);
  f.ask_for_plan();
  f.answer(BalancerFixture::exchanged());
  for (std::int64_t layers = 1; layers <= 3; ++layers) {
    f.steps(1);
    f.settle();
    CHECK(f.balancer().committed_layer_count() == layers);
  }
}

TEST_CASE("with one layer in flight the next one's copies start when the last has landed") {
  EplbOptions options = test::small_options();
  options.layers_in_flight = 1;
  BalancerFixture f(options);
  f.environment.transport.tickets.held_back = true;
  f.ask_for_plan();
  f.answer(BalancerFixture::exchanged());
  CHECK(f.environment.transport.copies.size() == 1);
  f.environment.transport.tickets.done_value = 1;
  f.settle();
  CHECK(f.environment.transport.copies.size() == 2);
}

TEST_CASE("a step commits no more bytes than its bound, but at least one layer") {
  // The busiest rank copies one row a layer: 10, 100 and 1000 bytes.
  struct Case {
    std::int64_t bound;
    std::vector<std::int64_t> committed;  ///< After each step.
  };

  for (const Case& expected : std::vector<Case>{{1, {1, 2, 3}},
                                                {109, {1, 2, 3}},
                                                {110, {2, 3, 3}},
                                                {1109, {2, 3, 3}},
                                                {1110, {3, 3, 3}}}) {
    CAPTURE(expected.bound);
    EplbOptions options = test::small_options();
    options.max_commit_bytes_per_step = expected.bound;
    BalancerFixture f(options);
    f.ask_for_plan();
    f.answer(BalancerFixture::exchanged());
    std::vector<std::int64_t> committed;
    for (int step = 0; step < 3; ++step) {
      f.steps(1);
      committed.push_back(f.balancer().committed_layer_count());
      f.settle();
    }
    CHECK(committed == expected.committed);
  }
}

}  // namespace
}  // namespace eplb
