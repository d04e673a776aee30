// Goal: ranks bring what serving says, and differ as it says. Method: constants where nothing is
// drawn, means and expected maxima of many steps where something is.
#include "step_work.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace eplb::sim {
namespace {

ServingOptions decoding() {
  return {.requests_per_rank = 50,
          .tokens_per_request = 4,
          .other_kernels_base_ms = 2,
          .other_kernels_per_request_ms = 0.1};
}

TEST_CASE("ranks that are alike bring the same rows and wait for nobody") {
  StepWork work(decoding(), 1);
  const StepWork::Step step = work.draw(3);
  CHECK(step.rows == std::vector<std::int64_t>{200, 200, 200});
  CHECK(step.row_count == 600);
  CHECK(step.others_ns == doctest::Approx(7e6));
  CHECK(step.wait_ns == 0);
  CHECK(work.draw(5).row_count == 1000);
}

TEST_CASE("prompts of one size add their rows and their time") {
  ServingOptions serving = decoding();
  serving.prefill_tokens_mean = 300;
  serving.other_kernels_per_prefill_token_ms = 0.01;
  StepWork work(serving, 1);
  const StepWork::Step step = work.draw(2);
  CHECK(step.rows == std::vector<std::int64_t>{500, 500});
  CHECK(step.others_ns == doctest::Approx(10e6));
  CHECK(step.wait_ns == doctest::Approx(0));
  CHECK(mean_rows_per_rank(serving) == 500);
}

TEST_CASE("the last rank is as late as the largest of so many normal numbers") {
  ServingOptions serving = decoding();
  serving.rank_imbalance = 0.1;
  StepWork work(serving, 1);
  constexpr int kSteps = 4000;
  double others_ms = 0;
  double wait_ms = 0;
  for (int step = 0; step < kSteps; ++step) {
    const StepWork::Step& drawn = work.draw(16);
    others_ms += drawn.others_ns * 1e-6 / kSteps;
    wait_ms += drawn.wait_ns * 1e-6 / kSteps;
    CHECK(drawn.wait_ns >= 0);
  }
  // The largest of 16 standard normal numbers is 1.766 on average; of 5 ms a rank's own part.
  CHECK(others_ms == doctest::Approx(7).epsilon(0.005));
  CHECK(wait_ms == doctest::Approx(0.1 * 5 * 1.766).epsilon(0.02));
}

TEST_CASE("prompts that differ keep their mean and their spread") {
  ServingOptions serving = decoding();
  serving.prefill_tokens_mean = 1000;
  serving.prefill_tokens_cv = 0.5;
  StepWork work(serving, 1);
  constexpr int kSteps = 4000;
  double sum = 0;
  double squares = 0;
  for (int step = 0; step < kSteps; ++step) {
    const double prompt = static_cast<double>(work.draw(1).rows[0]) - 200;
    sum += prompt / kSteps;
    squares += prompt * prompt / kSteps;
  }
  CHECK(sum == doctest::Approx(1000).epsilon(0.03));
  CHECK(std::sqrt(squares - sum * sum) == doctest::Approx(500).epsilon(0.06));
}

}  // namespace
}  // namespace eplb::sim
