// Goal: options that cannot work in the group are refused where a person would change them, and the
// words are the core's. Method: the legal scenario, 8 experts on 4 ranks of one domain, with lines
// or overrides; tests of the core have every rule's edges.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "config_text.hpp"
#include "eplb/config/group.hpp"
#include "eplb/sim/machine.hpp"

namespace eplb::config::test {
namespace {

TEST_CASE("the options of a migration, the engine and the group have their defaults") {
  const LoadResult result = load(kLegal);
  REQUIRE(problems(result) == "");
  const sim::Scenario& scenario = result->scenario;
  CHECK(scenario.eplb.communicator == Communicator::kAuto);
  CHECK(scenario.eplb.handshake == Handshake::kStatuses);
  CHECK(scenario.eplb.on_failure == OnFailure::kKeepServing);
  CHECK(scenario.eplb.landing_rows == std::nullopt);
  CHECK(scenario.eplb.deadline_ms == 30000);
  CHECK(scenario.engine.all2all.empty());
  CHECK(scenario.engine.moe_backend == "deep_gemm_mega_moe");
  CHECK(scenario.engine.nccl_max_ctas.empty());
  CHECK(scenario.parallel.data_parallel == 4);
  CHECK(scenario.parallel.pipeline_stages == 1);
  CHECK(scenario.parallel.scale.empty());
}

TEST_CASE("every key is read to its place") {
  const LoadResult result = load(
      kLegal, {"engine={all2all: mori, moe_backend: triton, nccl_max_ctas: 16, nixl: true}",
               "parallel={ranks: 4, data_parallel: 2, pipeline_stages: 3}",
               "eplb={communicator: nixl, log_balancedness: true, log_balancedness_interval: 7,"
               " migration_batching_enabled: false, landing_rows: 5, layers_in_flight: 1,"
               " max_commit_bytes_per_step: 9000000000, commit_lead_steps: 0, deadline_ms: 0.5,"
               " on_failure: raise}"});
  REQUIRE(problems(result) == "");
  const sim::Scenario& scenario = result->scenario;
  CHECK(scenario.engine.all2all == "mori");
  CHECK(scenario.engine.moe_backend == "triton");
  CHECK(scenario.engine.nccl_max_ctas == "16");
  CHECK(scenario.engine.nixl);
  CHECK(scenario.parallel.data_parallel == 2);
  CHECK(scenario.parallel.pipeline_stages == 3);
  CHECK(scenario.eplb.communicator == Communicator::kNixl);
  CHECK(scenario.eplb.log_balancedness);
  CHECK(scenario.eplb.log_balancedness_interval == 7);
  CHECK_FALSE(scenario.eplb.migration_batching_enabled);
  CHECK(scenario.eplb.landing_rows == 5);
  CHECK(scenario.eplb.layers_in_flight == 1);
  CHECK(scenario.eplb.max_commit_bytes_per_step == 9000000000);
  CHECK(scenario.eplb.commit_lead_steps == 0);
  CHECK(scenario.eplb.deadline_ms == 0.5);
  CHECK(scenario.eplb.on_failure == OnFailure::kRaise);
  CHECK(load(kLegal, {"eplb.handshake=barriers"})->scenario.eplb.handshake == Handshake::kBarriers);
}

TEST_CASE("NCCL in async mode is refused at the later of the two keys") {
  CHECK(problems(legal_with("eplb:\n  communicator: torch_nccl\n")) ==
        "t.yaml:6:17: error: eplb.communicator: torch_nccl can lock up with the kernels of a "
        "forward; set eplb.use_async to false or use nixl, symm_mem or torch_gloo\n");
  CHECK(problems(legal_with("eplb:\n  communicator: pynccl\n  use_async: true\n"))
            .starts_with("t.yaml:7:14: error: eplb.communicator: pynccl can lock up "));
  CHECK(problems(legal_with("eplb: {communicator: pynccl, use_async: false}\n")) == "");
  CHECK(problems(legal_with("eplb: {communicator: pynccl, enabled: false}\n")) == "");
}

TEST_CASE("symm_mem is refused where the ranks are in several domains") {
  const std::vector<std::string> two_domains = {"hardware.gpus_per_domain=2",
                                                "parallel.ranks_per_node=8"};
  CHECK(problems(legal_with("eplb: {communicator: symm_mem}\n")) == "");
  CHECK(problems(legal_with("eplb: {communicator: symm_mem}\n"), {"hardware.gpus_per_domain=2"}) ==
        "--set hardware.gpus_per_domain=2: error: eplb.communicator: symm_mem needs all ranks in "
        "one NVLink domain, these are in 2\n");
  CHECK(problems(legal_with("eplb: {handshake: barriers}\n")) == "");
  CHECK(problems(legal_with("eplb: {handshake: barriers}\n"), two_domains) ==
        "--set parallel.ranks_per_node=8: error: eplb.handshake: barriers are of symm_mem only, "
        "and the communicator is torch_gloo; use statuses\n");
}

TEST_CASE("a rate limit is of symm_mem, and above 0") {
  const LoadResult limited = load(kLegal, {"eplb.copy_rate_limit_gb_per_s=12.5"});
  REQUIRE(problems(limited) == "");
  CHECK(limited->scenario.eplb.copy_rate_limit_gb_per_s == 12.5);
  CHECK_FALSE(load(kLegal)->scenario.eplb.copy_rate_limit_gb_per_s.has_value());
  CHECK(problems(legal_with("eplb: {copy_rate_limit_gb_per_s: 0}\n")) ==
        "t.yaml:5:34: error: eplb.copy_rate_limit_gb_per_s: must be above 0 and at most 100000, "
        "got 0\n");
  CHECK(problems(legal_with("eplb: {communicator: torch_gloo, copy_rate_limit_gb_per_s: 9}\n")) ==
        "t.yaml:5:60: error: eplb.copy_rate_limit_gb_per_s: is of symm_mem only, and the "
        "communicator is torch_gloo; use none\n");
}

TEST_CASE("a group's domains are those of the simulated machine") {
  for (const char* gpus_per_domain : {"1", "2", "3", "8", "9", "16", "65536"}) {
    for (const char* ranks_per_node : {"1", "3", "8"}) {
      const LoadResult result =
          load(kLegal, {std::string("hardware.gpus_per_domain=") + gpus_per_domain,
                        std::string("parallel.ranks_per_node=") + ranks_per_node,
                        "model.logical_experts=144", "parallel.ranks=48"});
      REQUIRE(problems(result) == "");
      const auto topology = sim::topology_of(result->scenario.hardware, result->scenario.parallel);
      CHECK(group_of(result->scenario).domain_count == topology->domain_count());
    }
  }
}

TEST_CASE("landing rows that do not hold a layer are refused, and the sizes of all options") {
  CHECK(problems(legal_with("eplb: {landing_rows: 1}\n")) ==
        "t.yaml:5:22: error: eplb.landing_rows: must hold a layer, so be at least 2 slots of a "
        "rank, got 1\n");
  CHECK(problems(legal_with("eplb: {landing_rows: 2}\n")) == "");
  CHECK(problems(legal_with("eplb:\n"
                            "  landing_rows: 0\n"
                            "  layers_in_flight: 0\n"
                            "  max_commit_bytes_per_step: 0\n"
                            "  commit_lead_steps: 33\n"
                            "  deadline_ms: 0\n"
                            "  log_balancedness_interval: 0\n"
                            "  on_failure: restart\n")) ==
        "t.yaml:6:17: error: eplb.landing_rows: must be at least 1 and at most 16777216, got 0\n"
        "t.yaml:7:21: error: eplb.layers_in_flight: must be at least 1 and at most 1024, got 0\n"
        "t.yaml:8:30: error: eplb.max_commit_bytes_per_step: must be at least 1 and at most "
        "1000000000000, got 0\n"
        "t.yaml:9:22: error: eplb.commit_lead_steps: must be at least 0 and at most 32, got 33\n"
        "t.yaml:10:16: error: eplb.deadline_ms: must be above 0 and at most 10000000, got 0\n"
        "t.yaml:11:30: error: eplb.log_balancedness_interval: must be at least 1 and at most "
        "10000000, got 0\n"
        "t.yaml:12:15: error: eplb.on_failure: must be one of keep_serving, raise, got restart\n");
}

TEST_CASE("an option that may be absent can be none") {
  const LoadResult result = load(kLegal, {"eplb.landing_rows=none", "eplb.layers_in_flight=none",
                                          "eplb.max_commit_bytes_per_step=none"});
  REQUIRE(problems(result) == "");
  CHECK(result->scenario.eplb.landing_rows == std::nullopt);
  CHECK(result->digest == load(kLegal)->digest);
}

TEST_CASE("the engine's backends are vLLM's, or none") {
  CHECK(problems(legal_with("engine: {all2all: deepep, moe_backend: [triton]}\n")) ==
        "t.yaml:5:19: error: engine.all2all: must be one of naive, allgather_reducescatter, pplx, "
        "deepep_high_throughput, deepep_low_latency, flashinfer_all2allv, nixl_ep, mori, or none, "
        "got deepep\n"
        "t.yaml:5:40: error: engine.moe_backend: must be one of auto, deep_gemm_mega_moe, "
        "deep_gemm, triton, cutlass, flashinfer_trtllm, flashinfer_cutlass, flashinfer_cutedsl, "
        "marlin, aiter, or none, got a list\n");
  const LoadResult none = load(kLegal, {"engine={all2all: none, moe_backend: none}"});
  REQUIRE(problems(none) == "");
  CHECK(none->scenario.engine.moe_backend.empty());
}

TEST_CASE("data-parallel ranks divide the ranks, which pipeline stages need not do to layers") {
  CHECK(problems(kLegal, {"parallel.data_parallel=3"}) ==
        "--set parallel.data_parallel=3: error: parallel.data_parallel: must divide parallel.ranks "
        "(4), got 3\n");
  CHECK(problems(kLegal, {"parallel.data_parallel=8"}) ==
        "--set parallel.data_parallel=8: error: parallel.data_parallel: must be at most "
        "parallel.ranks (4), got 8\n");
  CHECK(problems(kLegal, {"parallel.pipeline_stages=3"}) == "");
}

TEST_CASE("ranks that share a GPU divide the ranks") {
  CHECK(problems(kLegal, {"parallel.ranks_per_gpu=2"}) == "");
  CHECK(problems(kLegal, {"parallel.ranks_per_gpu=3"}) ==
        "--set parallel.ranks_per_gpu=3: error: parallel.ranks_per_gpu: must divide parallel.ranks "
        "(4), got 3\n");
}

/// The legal scenario in sync mode with this `parallel.scale`, on a line of its own.
std::string said_of_scale(const std::string& scale,
                          const std::vector<std::string>& overrides = {}) {
  return problems(
      "model: {moe_layers: 2, hidden: 64, moe_intermediate: 32, logical_experts: 8, top_k: 2,"
      " weight_format: bf16}\nhardware: h200-hgx8\nserving: {requests_per_rank: 3}\n"
      "eplb: {num_redundant_experts: 4, use_async: false}\nrun: {steps: 10}\n"
      "parallel:\n  ranks: 4\n  scale: " +
          scale + "\n",
      overrides);
}

TEST_CASE("an elastic group is read, entry by entry") {
  const LoadResult result = load(kLegal, {"engine.nixl=true",
                                          "parallel.scale=[{at_step: 3, ranks: 6},"
                                          " {ranks: 4, at_step: 9}]"});
  REQUIRE(problems(result) == "");
  const std::vector<ScaleEvent>& scale = result->scenario.parallel.scale;
  REQUIRE(scale.size() == 2);
  CHECK(scale[0].at_step == 3);
  CHECK(scale[0].ranks == 6);
  CHECK(scale[1].at_step == 9);
  CHECK(scale[1].ranks == 4);
  CHECK(said_of_scale("[]") == "");
}

TEST_CASE("what is wrong with an entry of the scale is named by its index and place") {
  CHECK(said_of_scale("5") ==
        "t.yaml:8:10: error: parallel.scale: must be a list of entries with at_step, ranks, got "
        "5\n");
  CHECK(said_of_scale("[{at_step: 0, ranks: 1}, 7, {at_step: 5}]") ==
        "t.yaml:8:21: error: parallel.scale[0].at_step: must be at least 1 and at most 10000000, "
        "got 0\n"
        "t.yaml:8:31: error: parallel.scale[0].ranks: must be at least 2 and at most 4096, got 1\n"
        "t.yaml:8:35: error: parallel.scale[1]: must be a mapping of at_step, ranks, got 7\n"
        "t.yaml:8:38: error: parallel.scale[2].ranks: is missing, must be a whole number, at least "
        "2 and at most 4096\n");
  CHECK(
      said_of_scale("[{at_step: 5, ranks: 3}, {at_step: 5, ranks: 2}, {at_step: 10, ranks: 3}]") ==
      "t.yaml:8:45: error: parallel.scale[1].at_step: must be above the step of the entry before "
      "(5), got 5\n"
      "t.yaml:8:55: error: parallel.scale[1].ranks: 2 ranks of 3 slots hold 6, fewer than the 8 "
      "experts\n"
      "t.yaml:8:69: error: parallel.scale[2].at_step: must be below run.steps (10), got 10\n");
}

TEST_CASE("an elastic group has EPLB, one pipeline stage, no drafts and nothing to compare with") {
  const std::string scale = "[{at_step: 5, ranks: 3}]";
  CHECK(said_of_scale(scale) == "");
  CHECK(said_of_scale(scale, {"eplb.enabled=false"}) ==
        "--set eplb.enabled=false: error: parallel.scale: an elastic group needs EPLB, which moves "
        "the experts; set eplb.enabled to true or leave parallel.scale out\n");
  CHECK(said_of_scale(scale, {"parallel.pipeline_stages=2"}) ==
        "--set parallel.pipeline_stages=2: error: parallel.pipeline_stages: must be 1 in an "
        "elastic group, got 2\n");
  CHECK(said_of_scale(scale, {"run.compare_off=true"}) ==
        "--set run.compare_off=true: error: run.compare_off: an elastic group needs EPLB, so it "
        "cannot run without; set run.compare_off to false\n");
  const std::string model =
      "{moe_layers: 1, hidden: 8, moe_intermediate: 8, logical_experts: 8, top_k: 1,"
      " weight_format: bf16}";
  const std::string models = "model=[" + model + ", " + model + "]";
  CHECK(said_of_scale(scale, {models}) ==
        "--set " + models.substr(0, 60) +
            "...: error: model[1]: an elastic group cannot have draft models\n");
}

TEST_CASE("an elastic group that serves while weights move needs nixl") {
  const std::string scale = "[{at_step: 5, ranks: 3}]";
  CHECK(said_of_scale(scale, {"eplb.use_async=true"}) ==
        "--set eplb.use_async=true: error: eplb.communicator: must be nixl in an elastic group "
        "that serves while weights move, got torch_gloo; or set eplb.use_async to false\n");
  CHECK(said_of_scale(scale, {"eplb.use_async=true", "engine.nixl=true"}) == "");
  CHECK(said_of_scale(scale, {"eplb.communicator=symm_mem"}) ==
        "--set eplb.communicator=symm_mem: error: eplb.communicator: symm_mem is reserved once for "
        "all ranks, so it cannot serve an elastic group\n");
}

TEST_CASE("a step's assignments can be counted when the group has grown") {
  const std::vector<std::string> large = {"serving.tokens_per_request=1024",
                                          "serving.requests_per_rank=131072"};
  CHECK(said_of_scale("[]", large) == "");
  CHECK(said_of_scale("[{at_step: 5, ranks: 8}]", large) ==
        "--set serving.requests_per_rank=131072: error: serving.requests_per_rank: a step has "
        "2147483648 assignments (ranks x requests x tokens x top_k), at most 2147483647 can be "
        "counted\n");
}

TEST_CASE("the layer maps of the group at its largest fit in memory") {
  // 8 ranks of 512 slots hold 4096 experts; a ninth brings 512 redundant slots.
  const std::vector<std::string> large = {"parallel.ranks=8", "eplb.window_size=4",
                                          "model.moe_layers=1024", "eplb.num_redundant_experts=0",
                                          "model.logical_experts=4096"};
  CHECK(said_of_scale("[{at_step: 5, ranks: 8}]", large) == "");
  CHECK(said_of_scale("[{at_step: 5, ranks: 9}]", large) ==
        "--set model.logical_experts=4096: error: model.logical_experts: the layer maps would take "
        "8.6 GB, at most 8 GB is allowed; use fewer redundant experts\n");
}

TEST_CASE("a comparison without EPLB needs ranks that divide the experts") {
  const std::vector<std::string> five_ranks = {"eplb.num_redundant_experts=2", "parallel.ranks=5"};
  CHECK(problems(kLegal, five_ranks) == "");
  CHECK(problems(legal_with("run: {compare_off: true}\n"), five_ranks) ==
        "--set parallel.ranks=5: error: run.compare_off: 8 experts do not divide over 5 ranks "
        "without EPLB; set run.compare_off to false\n");
  CHECK(problems(legal_with("run: {compare_off: true}\n")) == "");
}

TEST_CASE("rules about options are silent about what is wrong already") {
  CHECK(problems(legal_with("eplb: {communicator: symm, handshake: barriers, landing_rows: 1}\n"),
                 {"parallel.ranks=x"}) ==
        "t.yaml:5:22: error: eplb.communicator: must be one of auto, symm_mem, nixl, torch_nccl, "
        "pynccl, torch_gloo, got symm\n"
        "--set parallel.ranks=x: error: parallel.ranks: must be a whole number in decimal digits, "
        "got x\n");
  CHECK(problems(legal_with("eplb: {enabled: maybe, communicator: pynccl}\n")) ==
        "t.yaml:5:17: error: eplb.enabled: must be true or false, got maybe\n");
  CHECK(problems(legal_with("eplb: {communicator: symm_mem}\n"), {"hardware.gpus_per_node=0"}) ==
        "--set hardware.gpus_per_node=0: error: hardware.gpus_per_node: must be at least 1 and at "
        "most 1024, got 0\n");
}

}  // namespace
}  // namespace eplb::config::test
