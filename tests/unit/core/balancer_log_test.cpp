// Goal: the logged balancedness is the reference's (eplb-semantics 3.2), of the right step, in
// order. Method: physical counts whose sums are worked out by hand; sums that arrive when the test
// says so.
#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "balancer_fixture.hpp"
#include "print_vector.hpp"

namespace eplb {
namespace {

using env::TraceEvent;
using test::BalancerFixture;

/// Logs every fourth step; layer l's slots have 10 l + 1, ..., 10 l + 6 tokens.
struct LogFixture : BalancerFixture {
  LogFixture() : BalancerFixture(log_options()) {
    for (Eigen::Index layer = 0; layer < 3; ++layer) {
      for (Eigen::Index slot = 0; slot < 6; ++slot) {
        environment.recorder.physical(layer, slot) = 10 * layer + slot + 1;
      }
    }
  }

  [[nodiscard]] static EplbOptions log_options() {
    EplbOptions options = test::small_options();
    options.log_balancedness = true;
    options.log_balancedness_interval = 4;
    return options;
  }

  [[nodiscard]] std::vector<std::int64_t> logged_steps() const {
    std::vector<std::int64_t> steps;
    for (const env::TraceRecord& record : environment.trace.records) {
      if (record.event == TraceEvent::kBalancedness) {
        steps.push_back(record.subject);
      }
    }
    return steps;
  }
};

constexpr env::SumKey log_key(std::int64_t step) {
  return {.kind = env::SumKey::Kind::kBalancedness, .index = step};
}

TEST_CASE("a logged step's balancedness is the sum of mean loads over the sum of largest loads") {
  LogFixture f;
  // The counter starts at 6 and restarts after step 1, so it is 0 before step 2 ends.
  f.steps(2);
  CHECK_FALSE(f.balancer().balancedness().has_value());
  f.steps(1);
  const auto& sums = f.environment.control_plane.own_sums;
  REQUIRE(sums.size() == 1);
  CHECK(sums[0].first == log_key(2));
  CHECK(sums[0].second == std::vector<double>{6, 15, 36, 45, 66, 75});
  REQUIRE(f.balancer().balancedness().has_value());
  CHECK(f.balancer().balancedness()->step == 2);
  CHECK(f.balancer().balancedness()->mean_load == 10.5 + 40.5 + 70.5);
  CHECK(f.balancer().balancedness()->max_load == 15 + 45 + 75);
  CHECK(f.balancer().balancedness()->balancedness == 0.9);
  CHECK(f.environment.trace.records.back().event == TraceEvent::kStep);
  CHECK(f.logged_steps() == std::vector<std::int64_t>{2});
}

TEST_CASE("steps are logged by the counter before it moves, dummy steps too") {
  LogFixture f;
  f.steps(6);
  CHECK(f.step(StepKind::kDummy) == StepDecision::kProceed);
  f.steps(1);
  std::vector<std::int64_t> logged;
  for (const auto& closed : f.environment.recorder.closed) {
    if (closed.log) {
      logged.push_back(closed.step);
    }
  }
  CHECK(logged == std::vector<std::int64_t>{2, 6});
}

TEST_CASE("logs come in order of their steps though their sums do not") {
  LogFixture f;
  f.environment.control_plane.late_sums = {log_key(2)};
  f.steps(7);
  CHECK(f.logged_steps().empty());
  CHECK_FALSE(f.balancer().balancedness().has_value());
  f.environment.control_plane.late_sums.clear();
  f.steps(1);
  CHECK(f.logged_steps() == std::vector<std::int64_t>{2, 6});
  CHECK(f.balancer().balancedness()->step == 6);
}

TEST_CASE("a pass that lands late is logged as the step that it was") {
  LogFixture f;
  f.environment.recorder.held_back = true;
  f.steps(5);
  CHECK(f.environment.control_plane.own_sums.empty());
  f.environment.recorder.held_back = false;
  f.steps(1);
  REQUIRE(f.environment.control_plane.own_sums.size() == 1);
  CHECK(f.environment.control_plane.own_sums[0].first == log_key(2));
  CHECK(f.balancer().balancedness()->step == 2);
}

TEST_CASE("a logged step without load has balancedness 0") {
  LogFixture f;
  f.environment.recorder.physical.setZero();
  f.steps(3);
  REQUIRE(f.balancer().balancedness().has_value());
  CHECK(f.balancer().balancedness()->balancedness == 0);
  CHECK(f.balancer().balancedness()->max_load == 0);
}

TEST_CASE("a rank that counts nothing gives zeros to a log, so that it can be completed") {
  LogFixture f;
  f.environment.recorder.counts = false;
  f.steps(3);
  REQUIRE(f.environment.control_plane.own_sums.size() == 1);
  CHECK(f.environment.control_plane.own_sums[0].first == log_key(2));
  CHECK(f.environment.control_plane.own_sums[0].second == std::vector<double>(6, 0.0));
}

TEST_CASE("a rank without MoE layers logs nothing but that it was there") {
  LogFixture f;
  f.shape.layer_count = 0;
  f.environment.recorder.logical = LoadMatrix(0, 4);
  f.environment.recorder.physical = LoadMatrix(0, 6);
  auto settings = f.settings();
  settings.row_bytes.clear();
  const auto balancer = Balancer::create(settings, f.environment.environment()).value();
  for (int step = 0; step < 12; ++step) {
    REQUIRE(balancer->on_step(StepKind::kReal) == StepDecision::kProceed);
    while (balancer->progress()) {
    }
  }
  REQUIRE(balancer->balancedness().has_value());
  CHECK(balancer->balancedness()->balancedness == 0);
  CHECK(f.environment.trace.count(TraceEvent::kPlanSkipped) == 2);
  CHECK(balancer->rearrangements().size() == 2);
}

}  // namespace
}  // namespace eplb
