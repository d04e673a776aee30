// Goal: rules between keys are held, each at the later of its keys, and only where its keys are
// sound. Method: the legal scenario with one thing changed.
#include <doctest/doctest.h>

#include <string>

#include "config_text.hpp"

namespace eplb::config::test {
namespace {

/// What is wrong after these overrides; the place and the key are those of the last of them.
std::string said(const std::vector<std::string>& overrides) {
  const LoadResult result = load(kLegal, overrides);
  if (result.has_value()) {
    return "";
  }
  CHECK(result.error().size() == 1);
  CHECK(result.error().front().file == "--set " + overrides.back());
  return result.error().front().message;
}

TEST_CASE("256 experts on 3 ranks are refused, with the nearest redundancy that would do") {
  CHECK(problems("model: deepseek-v3\n"
                 "hardware: h200-hgx8\n"
                 "serving: {requests_per_rank: 3}\n"
                 "eplb: {num_redundant_experts: 0}\n"
                 "parallel: {ranks: 3}\n") ==
        "t.yaml:5:19: error: parallel.ranks: 256 experts + 0 redundant do not divide "
        "over 3 ranks; the nearest legal redundancy is 2\n");
}

TEST_CASE("a redundancy that does not divide is refused at its own place when it comes later") {
  CHECK(problems(legal_with("eplb: {num_redundant_experts: 5}\n")) ==
        "t.yaml:5:31: error: eplb.num_redundant_experts: 8 experts + 5 redundant do not divide "
        "over 4 ranks; the nearest legal redundancy is 8\n");
  CHECK(problems(legal_with("eplb: {num_redundant_experts: 8}\n")) == "");
}

TEST_CASE("where no redundancy would do, none is named") {
  CHECK(said({"parallel.ranks=2000"}) ==
        "8 experts + 0 redundant do not divide over 2000 ranks; no legal redundancy does");
  CHECK(said({"eplb.enabled=false", "parallel.ranks=3"}) ==
        "8 experts + 0 redundant do not divide over 3 ranks; without EPLB the ranks must divide "
        "the experts");
}

TEST_CASE("without EPLB the redundancy counts as 0, and a note says so") {
  const LoadResult result = load(kLegal, {"eplb.enabled=false", "eplb.num_redundant_experts=5"});
  REQUIRE(result.has_value());
  CHECK(result->notes == std::vector<std::string>{
                             "eplb.enabled is false, so eplb.num_redundant_experts counts as 0"});
  CHECK(result->scenario.eplb.num_redundant_experts == 5);
  CHECK(load(kLegal)->notes.empty());
}

TEST_CASE("one rank with EPLB is refused, without EPLB it is fine") {
  CHECK(said({"parallel.ranks=1"}) ==
        "one rank has nothing to balance; use more ranks or set eplb.enabled to false");
  CHECK(problems(kLegal, {"parallel.ranks=1", "eplb.enabled=false"}) == "");
}

TEST_CASE("a model's router can choose no more experts than there are, in equal groups") {
  CHECK(said({"model.top_k=8"}) == "");
  CHECK(said({"model.top_k=9"}) == "must be at most logical_experts (8), got 9");
  CHECK(said({"model.expert_groups=4"}) == "");
  CHECK(said({"model.expert_groups=3"}) ==
        "must divide logical_experts, but 8 is not 3 equal groups");
}

TEST_CASE("a window of no steps is refused, and one of fewer steps than parts") {
  CHECK(said({"eplb.window_size=0"}) == "must be at least 1 and at most 10000000, got 0");
  CHECK(said({"eplb.window_size=3"}) == "must be at most window_size (3), got 4");
  CHECK(said({"eplb.window_size=4"}) == "");
  CHECK(said({"eplb.window_parts=17"}) == "must be at most history_parts (16), got 17");
  CHECK(said({"eplb.history_parts=3"}) == "must be at most history_parts (3), got 4");
}

TEST_CASE("a step accepts no more tokens than it has") {
  CHECK(said({"serving.accepted_tokens=1.5"}) == "must be at most tokens_per_request (1), got 1.5");
  CHECK(problems(kLegal, {"serving.accepted_tokens=1.5", "serving.tokens_per_request=2"}) == "");
}

TEST_CASE("a node has no more ranks than GPUs, and by default it has as many") {
  CHECK(load(kLegal)->scenario.parallel.ranks_per_node == 8);
  CHECK(said({"parallel.ranks_per_node=4"}) == "");
  CHECK(said({"parallel.ranks_per_node=9"}) == "must be at most hardware.gpus_per_node (8), got 9");
}

TEST_CASE("nodes that ranks do not fill are noted for a model with expert groups") {
  const std::vector<std::string> ragged = {"parallel.ranks_per_node=3"};
  CHECK(load(kLegal, ragged)->notes.empty());
  const auto grouped = load(kLegal, {"parallel.ranks_per_node=3", "model.expert_groups=2"});
  REQUIRE(grouped.has_value());
  CHECK(grouped->notes ==
        std::vector<std::string>{
            "parallel.ranks_per_node does not divide parallel.ranks, so a hierarchical policy "
            "places the groups of the model as if all ranks shared one node"});
}

TEST_CASE("the hardware must compute with the weights") {
  const auto with = [](const char* format, const char* fp8, const char* fp4) {
    return problems(kLegal, {std::string("hardware.fp8_tflops=") + fp8,
                             std::string("hardware.fp4_tflops=") + fp4,
                             std::string("model.weight_format=") + format});
  };
  const auto refused = [](const std::string& format, const std::string& reason) {
    return "--set model.weight_format=" + format +
           ": error: model.weight_format: the hardware cannot compute with these weights: " +
           reason + "\n";
  };
  CHECK(with("bf16", "0", "0") == "");
  CHECK(with("int4_group32", "0", "0") == "");
  CHECK(with("fp8_block128", "0", "9") == refused("fp8_block128", "fp8_tflops is 0"));
  CHECK(with("mxfp8", "0", "9") == refused("mxfp8", "fp8_tflops is 0"));
  CHECK(with("mxfp4", "0", "9") == refused("mxfp4", "fp8_tflops is 0"));
  CHECK(with("mxfp4", "9", "0") == "");
  CHECK(with("nvfp4", "9", "0") == "");
  CHECK(with("nvfp4", "0", "9") == "");
  CHECK(with("nvfp4", "0", "0") == refused("nvfp4", "fp4_tflops and fp8_tflops are both 0"));
}

TEST_CASE("weights are computed at the rate of the wider of weights and rows") {
  sim::HardwareOptions hardware;
  hardware.bf16_tflops = 1;
  hardware.fp8_tflops = 2;
  hardware.fp4_tflops = 4;
  CHECK(sim::arithmetic_tflops(hardware, WeightFormat::kBf16) == 1);
  CHECK(sim::arithmetic_tflops(hardware, WeightFormat::kInt4Group32) == 1);
  CHECK(sim::arithmetic_tflops(hardware, WeightFormat::kFp8Block128) == 2);
  CHECK(sim::arithmetic_tflops(hardware, WeightFormat::kMxfp8) == 2);
  CHECK(sim::arithmetic_tflops(hardware, WeightFormat::kMxfp4) == 2);
  CHECK(sim::arithmetic_tflops(hardware, WeightFormat::kNvfp4) == 4);
  hardware.fp4_tflops = 0;
  CHECK(sim::arithmetic_tflops(hardware, WeightFormat::kNvfp4) == 2);
}

TEST_CASE("a burst is no longer than the time from one to the next") {
  CHECK(said({"workload.drift={kind: burst, every_steps: 9, duration_steps: 9}"}) == "");
  CHECK(problems(legal_with("workload:\n"
                            "  drift:\n"
                            "    kind: burst\n"
                            "    duration_steps: 10\n"
                            "    every_steps: 9\n")) ==
        "t.yaml:9:18: error: workload.drift.duration_steps: must be at most every_steps (9), got "
        "10\n");
}

TEST_CASE("what cannot be counted or held in memory is refused") {
  CHECK(problems(kLegal, {"serving.tokens_per_request=1024", "parallel.ranks=8",
                          "serving.requests_per_rank=131072"}) ==
        "--set serving.requests_per_rank=131072: error: serving.requests_per_rank: a step has "
        "2147483648 assignments (ranks x requests x tokens x top_k), at most 2147483647 can be "
        "counted\n");
  CHECK(problems(kLegal, {"model.moe_layers=1000", "eplb.window_size=250001"}) ==
        "--set eplb.window_size=250001: error: eplb.window_size: the load window would take 8 GB, "
        "at most 8 GB is allowed; use a smaller window_size or history_parts\n");
  CHECK(problems(kLegal, {"model.moe_layers=1000", "eplb.window_size=249000"}) == "");
  CHECK(problems(kLegal, {"model={moe_layers: 1024, hidden: 1, moe_intermediate: 1, top_k: 1,"
                          " logical_experts: 16384, weight_format: bf16}",
                          "eplb.window_size=4", "eplb.num_redundant_experts=1020"}) ==
        "--set eplb.num_redundant_experts=1020: error: eplb.num_redundant_experts: the layer maps "
        "would take 68.6 GB, at most 8 GB is allowed; use fewer redundant experts\n");
}

TEST_CASE("bytes of the largest model that the ranges allow do not overflow") {
  const LoadResult largest = load(kLegal, {"model.hidden=131072", "model.moe_intermediate=131072"});
  REQUIRE(largest.has_value());
  CHECK(bytes_per_expert(largest->scenario.model) == std::int64_t{6} << 34);
  CHECK(said({"model.hidden=131073"}) == "must be at least 1 and at most 131072, got 131073");
}

TEST_CASE("a rule is silent about keys that are wrong already") {
  CHECK(problems(kLegal, {"parallel.ranks=x", "eplb.num_redundant_experts=5"}) ==
        "--set parallel.ranks=x: error: parallel.ranks: must be a whole number in decimal digits, "
        "got x\n");
  CHECK(problems(kLegal, {"model={}"}).find("divide") == std::string::npos);
}

TEST_CASE("a rule between an included file and the scenario points at the scenario") {
  CHECK(problems("model: deepseek-v3\nhardware: h200-hgx8\nparallel: {ranks: 8}\n"
                 "serving: {requests_per_rank: 1}\n",
                 {"hardware.fp8_tflops=0"}) ==
        "--set hardware.fp8_tflops=0: error: hardware.fp8_tflops: the hardware cannot compute with "
        "these weights: fp8_tflops is 0\n");
  CHECK(problems("model: deepseek-v4-pro\nparallel: {ranks: 7}\nhardware: h200-hgx8\n"
                 "serving: {requests_per_rank: 1}\n") ==
        "t.yaml:2:19: error: parallel.ranks: 384 experts + 0 redundant do not divide "
        "over 7 ranks; the nearest legal redundancy is 1\n");
}

}  // namespace
}  // namespace eplb::config::test
