// Goal: shares are distributions that respect top-k, follow schedules, and drift as stated.
// Method: each kind of routing and drift on a small model, values or moments checked.
#include "eplb/sim/routing.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace eplb::sim {
namespace {

ModelOptions model_of(std::int32_t layers, std::int32_t experts, std::int32_t top_k) {
  return {.name = "test",
          .moe_layers = layers,
          .hidden = 128,
          .moe_intermediate = 128,
          .logical_experts = experts,
          .top_k = top_k};
}

RealLoadMatrix one_row(std::initializer_list<double> values) {
  RealLoadMatrix row(1, static_cast<Eigen::Index>(values.size()));
  std::ranges::copy(values, row.data());
  return row;
}

TEST_CASE("every kind gives rows that sum to 1 with no share above 1 / top-k") {
  const ModelOptions model = model_of(3, 40, 8);
  const std::vector<RoutingOptions> kinds{
      UniformRouting{}, ZipfRouting{.exponent = 1.5}, LognormalRouting{.sigma = 2},
      PowerLawRouting{.exponent = 1.0}, PowerLawRouting{.exponent = 1.9, .weight_max = 1024}};
  for (const RoutingOptions& kind : kinds) {
    CAPTURE(kind.index());
    RoutingModel routing(model, {.routing = kind}, 5);
    const RealLoadMatrix& shares = routing.shares_at(0);
    for (Eigen::Index layer = 0; layer < 3; ++layer) {
      CHECK(shares.row(layer).sum() == doctest::Approx(1.0));
      CHECK(shares.row(layer).minCoeff() >= 0);
      CHECK(shares.row(layer).maxCoeff() <= 1.0 / 8 + 1e-12);
    }
  }
}

TEST_CASE("zipf gives the harmonic weights in an order of each layer's own") {
  RoutingModel routing(model_of(2, 4, 1), {.routing = ZipfRouting{.exponent = 1}}, 5);
  const RealLoadMatrix shares = routing.shares_at(0);
  const double total = 1 + 1.0 / 2 + 1.0 / 3 + 1.0 / 4;
  for (Eigen::Index layer = 0; layer < 2; ++layer) {
    std::vector<double> sorted(shares.row(layer).begin(), shares.row(layer).end());
    std::ranges::sort(sorted, std::ranges::greater{});
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(sorted[i] == doctest::Approx(1.0 / static_cast<double>(i + 1) / total));
    }
  }
}

TEST_CASE("lognormal weights have the spread asked for") {
  RoutingModel routing(model_of(1, 20000, 1), {.routing = LognormalRouting{.sigma = 0.7}}, 5);
  const Eigen::RowVectorXd logs = routing.shares_at(0).row(0).array().log();
  const double variance = (logs.array() - logs.mean()).square().mean();
  CHECK(std::sqrt(variance) == doctest::Approx(0.7).epsilon(0.03));
}

TEST_CASE("what exceeds the cap goes to the others in proportion") {
  Eigen::RowVectorXd weights(4);
  weights << 80, 10, 6, 4;
  normalise_shares(weights, 0.5);
  CHECK(weights(0) == 0.5);
  CHECK(weights(1) == doctest::Approx(0.25));
  CHECK(weights(2) == doctest::Approx(0.15));
  CHECK(weights(3) == doctest::Approx(0.10));
}

TEST_CASE("one expert alone leaves the rest to the others alike, and no weight at all is uniform") {
  Eigen::RowVectorXd weights(5);
  weights << 0, 7, 0, 0, 0;
  normalise_shares(weights, 0.2);
  CHECK(weights.isApprox(Eigen::RowVectorXd::Constant(5, 0.2)));
  weights << 0, 7, 0, 0, 0;
  normalise_shares(weights, 0.6);
  CHECK(weights(1) == doctest::Approx(0.6));
  CHECK(weights(0) == doctest::Approx(0.1));
  weights.setZero();
  normalise_shares(weights, 0.5);
  CHECK(weights.isApprox(Eigen::RowVectorXd::Constant(5, 0.2)));
}

TEST_CASE("count windows follow each other and begin again") {
  const CountsRouting counts{
      .file = "", .windows = {one_row({1, 3}), one_row({3, 1})}, .steps_per_window = 10};
  RoutingModel routing(model_of(1, 2, 1), {.routing = counts}, 5);
  for (std::int64_t step = 0; step < 45; ++step) {
    const double expected = (step / 10) % 2 == 0 ? 0.25 : 0.75;
    REQUIRE(routing.shares_at(step)(0, 0) == doctest::Approx(expected));
  }
}

TEST_CASE("a schedule mixes domains by their shares, whatever their token counts") {
  DomainsRouting domains;
  domains.domains = {{.name = "a", .counts = one_row({100, 300})},
                     {.name = "b", .counts = one_row({3, 1})}};
  domains.schedule = {{.steps = 5, .shares = {1, 0}}, {.steps = 10, .shares = {1, 1}}};
  RoutingModel routing(model_of(1, 2, 1), {.routing = domains}, 5);
  for (std::int64_t step = 0; step < 40; ++step) {
    const double expected = step % 15 < 5 ? 0.25 : 0.5;
    CAPTURE(step);
    REQUIRE(routing.shares_at(step)(0, 0) == doctest::Approx(expected));
  }
}

TEST_CASE("a walk keeps the spread and loses the correlation at the stated pace") {
  const WorkloadOptions workload{.routing = LognormalRouting{.sigma = 0.7},
                                 .drift = WalkDrift{.correlation_steps = 200}};
  RoutingModel routing(model_of(1, 20000, 1), workload, 5);
  const Eigen::RowVectorXd first = routing.shares_at(0).row(0).array().log();
  Eigen::RowVectorXd later;
  for (std::int64_t step = 1; step <= 200; ++step) {
    later = routing.shares_at(step).row(0).array().log();
  }
  const Eigen::RowVectorXd a = first.array() - first.mean();
  const Eigen::RowVectorXd b = later.array() - later.mean();
  CHECK(std::sqrt(b.squaredNorm() / 20000) == doctest::Approx(0.7).epsilon(0.04));
  CHECK(a.dot(b) / std::sqrt(a.squaredNorm() * b.squaredNorm()) ==
        doctest::Approx(std::exp(-1.0)).epsilon(0.1));
}

TEST_CASE("a switch deals the same weights to other experts, at its interval only") {
  const WorkloadOptions workload{.routing = ZipfRouting{.exponent = 1},
                                 .drift = SwitchDrift{.every_steps = 10}};
  RoutingModel routing(model_of(1, 30, 1), workload, 5);
  const RealLoadMatrix first = routing.shares_at(0);
  for (std::int64_t step = 1; step < 10; ++step) {
    REQUIRE(routing.shares_at(step) == first);
  }
  RealLoadMatrix second = routing.shares_at(10);
  CHECK(second != first);
  RealLoadMatrix first_sorted = first;
  std::ranges::sort(first_sorted.reshaped());
  std::ranges::sort(second.reshaped());
  CHECK(second.isApprox(first_sorted));
}

TEST_CASE("a burst multiplies one expert for its duration") {
  const WorkloadOptions workload{
      .routing = UniformRouting{},
      .drift = BurstDrift{.every_steps = 20, .duration_steps = 5, .factor = 4}};
  RoutingModel routing(model_of(1, 13, 1), workload, 5);
  for (std::int64_t step = 0; step < 60; ++step) {
    const bool bursting = step >= 20 && step % 20 < 5;
    CAPTURE(step);
    REQUIRE(routing.shares_at(step).maxCoeff() == doctest::Approx(bursting ? 4.0 / 16 : 1.0 / 13));
  }
}

}  // namespace
}  // namespace eplb::sim
