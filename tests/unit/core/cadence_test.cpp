// Goal: the counter of steps is the reference's (eplb-semantics 3.2). Method: its answers step by
// step, for a window shorter and longer than the interval, with and without a log.
#include "eplb/core/cadence.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "print_vector.hpp"

namespace eplb {
namespace {

/// Steps, of the first `count`, after which a rearrangement is due.
std::vector<int> triggers(std::int32_t step_interval, int count) {
  Cadence cadence({.window_size = 3, .step_interval = step_interval},
                  Cadence::first_counter(step_interval));
  std::vector<int> due;
  for (int step = 0; step < count; ++step) {
    cadence.advance();
    if (cadence.rearrangement_due()) {
      due.push_back(step);
      cadence.restart();
    }
  }
  return due;
}

/// Steps, of the first `count` after a trigger, whose forward is recorded.
std::vector<int> recorded(const Cadence::Options& options, int count) {
  Cadence cadence(options, 0);
  std::vector<int> steps;
  for (int step = 0; step < count; ++step) {
    if (cadence.should_record()) {
      steps.push_back(step);
    }
    cadence.advance();
  }
  return steps;
}

TEST_CASE("a cadence counts a quarter of its interval to the first trigger, then whole ones") {
  CHECK(triggers(8, 20) == std::vector<int>{1, 9, 17});
  CHECK(triggers(3000, 4000) == std::vector<int>{749, 3749});
  // A quarter of 3 is 0, rounded down: the counter starts where it is due.
  CHECK(triggers(3, 8) == std::vector<int>{0, 3, 6});
  CHECK(triggers(1, 3) == std::vector<int>{0, 1, 2});
}

TEST_CASE("the counter goes on past the interval until it is restarted") {
  Cadence cadence({.window_size = 3, .step_interval = 4}, 0);
  for (int step = 0; step < 11; ++step) {
    cadence.advance();
  }
  CHECK(cadence.rearrangement_due());
  CHECK(cadence.steps_until_rearrangement() == -7);
  cadence.restart();
  CHECK_FALSE(cadence.rearrangement_due());
  CHECK(cadence.steps_until_rearrangement() == 4);
}

TEST_CASE("after an abort the counter goes on from where it stood in its interval") {
  Cadence cadence({.window_size = 3, .step_interval = 4}, 0);
  for (int step = 0; step < 11; ++step) {
    cadence.advance();
  }
  cadence.wait_for_next_interval();
  CHECK(cadence.counter() == 3);
  CHECK_FALSE(cadence.rearrangement_due());
  cadence.advance();
  CHECK(cadence.rearrangement_due());
}

TEST_CASE("the last window before a trigger is recorded") {
  CHECK(recorded({.window_size = 3, .step_interval = 8}, 8) == std::vector<int>{5, 6, 7});
  CHECK(recorded({.window_size = 9, .step_interval = 8}, 3) == std::vector<int>{0, 1, 2});
}

TEST_CASE("the last window before a logged step is recorded too, and the logged step itself") {
  CHECK(recorded({.window_size = 1, .step_interval = 100, .log_interval = 5}, 12) ==
        std::vector<int>{0, 4, 5, 9, 10});
}

TEST_CASE("a step is logged where the counter before it is a multiple of the log interval") {
  Cadence cadence({.window_size = 1, .step_interval = 100, .log_interval = 3}, 0);
  std::vector<int> logged;
  for (int step = 0; step < 8; ++step) {
    if (cadence.log_due()) {
      logged.push_back(step);
    }
    cadence.advance();
  }
  CHECK(logged == std::vector<int>{0, 3, 6});
  CHECK_FALSE(Cadence({.window_size = 1, .step_interval = 100}, 0).log_due());
}

}  // namespace
}  // namespace eplb
