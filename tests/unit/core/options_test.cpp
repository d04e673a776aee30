// Goal: a model's expert has the bytes that its format says. Method: the published shapes and their
// megabytes an expert (model config files; hidden x inner width x 3 matrices x bytes a parameter).
#include "eplb/core/options.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace eplb {
namespace {

struct PublishedExpert {
  std::string model;
  std::int32_t hidden;
  std::int32_t moe_intermediate;
  WeightFormat format;
  double megabytes;
  double half_of_last_digit;
};

ModelOptions model_of(std::int32_t hidden, std::int32_t moe_intermediate, WeightFormat format) {
  return {.name = "",
          .moe_layers = 40,
          .hidden = hidden,
          .moe_intermediate = moe_intermediate,
          .logical_experts = 384,
          .top_k = 6,
          .expert_groups = 8,
          .weight_format = format};
}

TEST_CASE("an expert of each known model has its published size") {
  const std::vector<PublishedExpert> published{
      {"DeepSeek-V3", 7168, 2048, WeightFormat::kFp8Block128, 44.05, 0.005},
      {"DeepSeek-V4-Flash", 4096, 2048, WeightFormat::kMxfp4, 13.4, 0.05},
      {"DeepSeek-V4-Pro", 7168, 3072, WeightFormat::kMxfp4, 35.1, 0.05},
      {"DeepSeek-V4.1-Flash", 5120, 2304, WeightFormat::kMxfp4, 18.80, 0.005},
      {"Kimi K2.5", 7168, 2048, WeightFormat::kInt4Group32, 24.8, 0.05},
      {"Kimi K3", 3584, 3072, WeightFormat::kMxfp4, 17.5, 0.05},
      {"Qwen3-235B-A22B, BF16", 4096, 1536, WeightFormat::kBf16, 37.7, 0.05},
      {"Qwen3-235B-A22B, FP8", 4096, 1536, WeightFormat::kFp8Block128, 18.9, 0.05},
      {"GLM-5, BF16", 6144, 2048, WeightFormat::kBf16, 75.5, 0.05},
      {"GLM-5, FP8", 6144, 2048, WeightFormat::kFp8Block128, 37.8, 0.05},
      {"GLM-5, NVFP4", 6144, 2048, WeightFormat::kNvfp4, 21.2, 0.05},
      {"GLM-4.5, BF16", 5120, 1536, WeightFormat::kBf16, 47.2, 0.05},
      {"GLM-4.5, FP8", 5120, 1536, WeightFormat::kFp8Block128, 23.6, 0.05},
      {"gpt-oss-120b", 2880, 2880, WeightFormat::kMxfp4, 13.2, 0.05},
      {"MiniMax-M2.5", 3072, 1536, WeightFormat::kFp8Block128, 14.2, 0.05},
      {"MiniMax-M3", 6144, 3072, WeightFormat::kBf16, 113, 0.5},
  };
  for (const PublishedExpert& expert : published) {
    CAPTURE(expert.model);
    const std::int64_t bytes =
        bytes_per_expert(model_of(expert.hidden, expert.moe_intermediate, expert.format));
    CHECK(static_cast<double>(bytes) / 1e6 ==
          doctest::Approx(expert.megabytes).epsilon(expert.half_of_last_digit / expert.megabytes));
  }
}

TEST_CASE("25 experts of DeepSeek-V4.1-Flash are the published 470.0 MB") {
  const std::int64_t bytes = bytes_per_expert(model_of(5120, 2304, WeightFormat::kMxfp4));
  CHECK(bytes == 18'800'640);
  CHECK(25 * bytes == 470'016'000);
  // With one scale a group of 16 it would be 497.7 MB, which rules that format out.
  CHECK(25 * bytes_per_expert(model_of(5120, 2304, WeightFormat::kNvfp4)) == 497'664'000);
}

TEST_CASE("each format's bytes include its scales") {
  // 3 x 128 x 128 parameters.
  const auto bytes = [](WeightFormat format) {
    return bytes_per_expert(model_of(128, 128, format));
  };
  CHECK(bytes(WeightFormat::kBf16) == 98'304);
  CHECK(bytes(WeightFormat::kFp8Block128) == 49'152 + 3 * 4);
  CHECK(bytes(WeightFormat::kMxfp8) == 49'152 + 49'152 / 32);
  CHECK(bytes(WeightFormat::kMxfp4) == 24'576 + 49'152 / 32);
  CHECK(bytes(WeightFormat::kNvfp4) == 24'576 + 49'152 / 16);
  CHECK(bytes(WeightFormat::kInt4Group32) == 24'576 + 2 * 49'152 / 32);
}

TEST_CASE("bytes of an expert are rounded up") {
  // 3 parameters at 17/32 of a byte are 1.59 bytes.
  CHECK(bytes_per_expert(model_of(1, 1, WeightFormat::kMxfp4)) == 2);
  CHECK(bytes_per_expert(model_of(0, 0, WeightFormat::kMxfp4)) == 0);
}

TEST_CASE("a row costs two FLOPs for each parameter of its expert") {
  CHECK(flops_per_row(model_of(5120, 2304, WeightFormat::kMxfp4)) == 70'778'880.0);
}

TEST_CASE("a shape is the model's sizes and the balancer's redundancy") {
  const ModelOptions model = model_of(5120, 2304, WeightFormat::kMxfp4);
  EplbOptions eplb;
  eplb.num_redundant_experts = 32;
  const ParallelOptions parallel{.ranks = 32, .ranks_per_node = 4};
  CHECK(shape_of(model, parallel, eplb) == Shape{.layer_count = 40,
                                                 .expert_count = 384,
                                                 .redundant_slot_count = 32,
                                                 .rank_count = 32,
                                                 .expert_group_count = 8});
  eplb.enabled = false;
  CHECK(shape_of(model, parallel, eplb).redundant_slot_count == 0);
}

TEST_CASE("the balancer's defaults are the reference's") {
  const EplbOptions eplb;
  CHECK(eplb.enabled);
  CHECK(eplb.num_redundant_experts == 0);
  CHECK(eplb.window_size == 1000);
  CHECK(eplb.step_interval == 3000);
  CHECK(eplb.use_async);
  CHECK(eplb.policy == "default");
  CHECK(eplb.replica_choice == ReplicaChoice::kHash);
  CHECK_FALSE(eplb.window_half_life_steps.has_value());
}

}  // namespace
}  // namespace eplb
