// Goal: a serving configuration says of itself which orders could hang it, and none where none can.
// Method: the combinations of expert kernels and communicators that users have met; what a run of
// the same program does under jitter must agree.
#include "eplb/sim/serving_hazards.hpp"

#include <doctest/doctest.h>

#include "scenarios.hpp"

namespace eplb::sim {
namespace {

/// Sync mode, which is the only one that takes NCCL.
Scenario with(Communicator communicator, const char* moe_backend) {
  Scenario scenario = test::small_scenario();
  scenario.parallel.data_parallel = scenario.parallel.ranks;
  scenario.eplb.communicator = communicator;
  scenario.eplb.use_async = false;
  scenario.engine.moe_backend = moe_backend;
  return scenario;
}

std::int32_t hanging_runs(const Scenario& scenario) {
  return sweep_program(serving_program(scenario), 1).value().hangs;
}

TEST_CASE("copy engines and one-sided reads hold no SM, so nothing can wait in a circle") {
  for (const Communicator communicator :
       {Communicator::kSymmMem, Communicator::kNixl, Communicator::kTorchGloo}) {
    Scenario scenario = with(communicator, "deep_gemm_mega_moe");
    CHECK(serving_hazards(scenario).empty());
    scenario.eplb.use_async = true;
    CHECK(serving_hazards(scenario).empty());
    CHECK(hanging_runs(scenario) == 0);
  }
}

TEST_CASE("NCCL beside an expert kernel on every SM is a hazard, cap or no cap") {
  for (const char* ctas : {"", "8", "2"}) {
    Scenario scenario = with(Communicator::kTorchNccl, "deep_gemm_mega_moe");
    scenario.engine.nccl_max_ctas = ctas;
    const std::vector<Hazard> hazards = serving_hazards(scenario);
    REQUIRE_FALSE(hazards.empty());
    CHECK(hazards[0].kind == "order");
    CHECK(hazards[0].explanation.size() >= 2);
    CHECK_FALSE(hazards[0].advice.empty());
  }
}

TEST_CASE("a cap helps only if the expert kernel leaves that many SMs") {
  Scenario scenario = with(Communicator::kTorchNccl, "deep_gemm_mega_moe");
  scenario.engine.nccl_max_ctas = "8";
  scenario.engine.moe_sms = scenario.hardware.sm_count - 8;
  CHECK(serving_hazards(scenario).empty());
  CHECK(hanging_runs(scenario) == 0);
  scenario.engine.moe_sms = scenario.hardware.sm_count - 7;
  CHECK_FALSE(serving_hazards(scenario).empty());
}

TEST_CASE("without a cooperative kernel NCCL's two communicators fit beside each other") {
  CHECK(serving_hazards(with(Communicator::kPynccl, "triton")).empty());
  Scenario scenario = with(Communicator::kPynccl, "triton");
  scenario.engine.all2all = "deepep_low_latency";
  CHECK_FALSE(serving_hazards(scenario).empty());
}

TEST_CASE("unbatched groups of more than 256 operations are cut up by NCCL") {
  Scenario scenario = with(Communicator::kPynccl, "triton");
  scenario.model.logical_experts = 508;
  scenario.eplb.migration_batching_enabled = false;
  // 128 slots a rank, two tensors each, sent and received.
  const std::vector<Hazard> hazards = serving_hazards(scenario);
  REQUIRE(hazards.size() == 1);
  CHECK(hazards[0].kind == "library");
  CHECK(hazards[0].explanation[0].operation == "an NCCL group of up to 512 sends and receives");
  scenario.eplb.migration_batching_enabled = true;
  CHECK(serving_hazards(scenario).empty());
}

TEST_CASE("without EPLB, or on one rank, nothing moves") {
  Scenario scenario = with(Communicator::kTorchNccl, "deep_gemm_mega_moe");
  scenario.eplb.enabled = false;
  CHECK(serving_hazards(scenario).empty());
}

}  // namespace
}  // namespace eplb::sim
