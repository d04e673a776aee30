#include "router_case.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace eplb::gpu::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

float drawn_logit(LogitFilling filling, Draw& draw) {
  const auto random = static_cast<float>(16 * draw.fraction() - 8);
  switch (filling) {
    case LogitFilling::kCoarse:
      return static_cast<float>(draw.below(4)) - 1.5F;
    case LogitFilling::kEqual:
      return 0.75F;
    case LogitFilling::kInfinities:
      // The others far apart, so that exponentials reach 0.
      return draw.chance(0.05) ? (draw.chance(0.5) ? kInfinity : -kInfinity) : 16 * random;
    case LogitFilling::kNan:
      return draw.chance(0.3) ? kNan : (draw.chance(0.02) ? kInfinity : random);
    case LogitFilling::kRandom:
      break;
  }
  return random;
}

float drawn_bias(LogitFilling filling, Draw& draw) {
  if (filling == LogitFilling::kNan && draw.chance(0.02)) {
    return draw.chance(0.5) ? kNan : -kInfinity;
  }
  return filling == LogitFilling::kRandom ? static_cast<float>(draw.fraction() - 0.5)
                                          : 0.25F * static_cast<float>(draw.below(3) - 1);
}

float truncated_to_bf16(float value) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) & 0xFFFF0000U);
}

const char* name_of(RouterScoring scoring) {
  constexpr std::array kNames{"softmax", "sigmoid", "sqrt-softplus"};
  return kNames.at(static_cast<std::size_t>(scoring));
}

}  // namespace

RouterRule drawn_rule(const RouterSizes& sizes, RouterScoring scoring, Draw& draw) {
  RouterRule rule{.expert_count = sizes.expert_count,
                  .top_k = sizes.top_k,
                  .scoring = scoring,
                  .group_score = draw.chance(0.5) ? GroupScore::kMaximum : GroupScore::kSumOfTwo,
                  .is_renormalized = draw.chance(0.7),
                  .weight_factor = draw.chance(0.5) ? 1.0F : 2.5F};
  if (draw.chance(0.6)) {
    rule.group_count = draw.chance(0.5) ? 8 : 1 << draw.below(6);
    const std::int32_t group_size = rule.expert_count / rule.group_count;
    const std::int32_t least = (rule.top_k + group_size - 1) / group_size;
    rule.top_group_count = least + draw.below(rule.group_count - least + 1);
  }
  return rule;
}

RouterCase drawn_router_case(const RouterRule& rule, std::int32_t row_count, LogitFilling filling,
                             bool is_bf16, Draw& draw) {
  RouterCase router{.rule = rule, .logits = {}, .choice_bias = {}};
  const auto expert_count = static_cast<std::size_t>(rule.expert_count);
  router.logits.reserve(static_cast<std::size_t>(row_count) * expert_count);
  for (std::int32_t row = 0; row < row_count; ++row) {
    const bool is_all_nan = filling == LogitFilling::kNan && draw.chance(0.05);
    for (std::size_t expert = 0; expert < expert_count; ++expert) {
      router.logits.push_back(is_all_nan ? kNan : drawn_logit(filling, draw));
    }
  }
  // Not as a choice a value: of `is_bf16 ? truncated : whole`, g++ 12.2 -O1 makes `whole`.
  if (is_bf16) {
    std::ranges::transform(router.logits, router.logits.begin(), truncated_to_bf16);
  }
  if (draw.chance(0.5)) {
    router.choice_bias.resize(expert_count);
    std::ranges::generate(router.choice_bias, [&] { return drawn_bias(filling, draw); });
  }
  return router;
}

std::string description_of(const RouterCase& router) {
  const RouterRule& rule = router.rule;
  const std::size_t row_count = router.logits.size() / static_cast<std::size_t>(rule.expert_count);
  return std::to_string(row_count) + " rows, " + name_of(rule.scoring) + " top " +
         std::to_string(rule.top_k) + " of " + std::to_string(rule.expert_count) + ", " +
         std::to_string(rule.top_group_count) + " of " + std::to_string(rule.group_count) +
         " groups" + (rule.group_score == GroupScore::kMaximum ? " by maximum" : "") +
         (router.choice_bias.empty() ? "" : ", biased");
}

template <>
std::vector<float> as_logits<float>(const std::vector<float>& values) {
  return values;
}

template <>
std::vector<std::uint16_t> as_logits<std::uint16_t>(const std::vector<float>& values) {
  std::vector<std::uint16_t> halves(values.size());
  std::ranges::transform(values, halves.begin(), [](float value) {
    return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16U);
  });
  return halves;
}

}  // namespace eplb::gpu::test
