#include "router_reference.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>

#include "eplb/gpu/device/router_score.hpp"
#include "parallel.hpp"

namespace eplb::gpu::test {
namespace {

constexpr std::size_t kLanes = 32;

std::size_t size_of(std::int32_t count) {
  return static_cast<std::size_t>(count);
}

/// Indices by falling value, NaN last, ties in their order.
std::vector<std::size_t> falling_order(std::span<const float> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t left, std::size_t right) {
    if (std::isnan(values[left]) || std::isnan(values[right])) {
      return !std::isnan(values[left]) && std::isnan(values[right]);
    }
    return values[left] > values[right];
  });
  return order;
}

/// In the order that device::SoftmaxRow tells.
float sum_over_lanes(const RouterRule& rule, std::span<const float> terms) {
  const std::size_t group_size = terms.size() / size_of(rule.group_count);
  const std::size_t group_lanes = kLanes / size_of(rule.group_count);
  std::array<float, kLanes> sums{};
  for (std::size_t expert = 0; expert < terms.size(); ++expert) {
    const std::size_t group = expert / group_size;
    const std::size_t four = expert % group_size / 4;
    if (!std::isnan(terms[expert])) {
      sums.at(group * group_lanes + four % group_lanes) += terms[expert];
    }
  }
  for (const std::size_t distance : {16U, 8U, 4U, 2U, 1U}) {
    const std::array<float, kLanes> before = sums;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      sums.at(lane) = before.at(lane) + before.at(lane ^ distance);
    }
  }
  return sums[0];
}

std::vector<float> softmax(const RouterRule& rule, std::span<const float> logits) {
  float maximum = -std::numeric_limits<float>::infinity();
  for (const float logit : logits) {
    maximum = logit > maximum ? logit : maximum;
  }
  std::vector<float> scores(logits.size());
  std::ranges::transform(logits, scores.begin(),
                         [&](float logit) { return device::softmax_term(logit, maximum); });
  const float factor = 1.0F / sum_over_lanes(rule, scores);
  for (float& score : scores) {
    score *= factor;
  }
  return scores;
}

std::vector<float> scores_of(const RouterRule& rule, std::span<const float> logits) {
  if (rule.scoring == RouterScoring::kSoftmax) {
    return softmax(rule, logits);
  }
  std::vector<float> scores(logits.size());
  std::ranges::transform(logits, scores.begin(), [&](float logit) {
    return rule.scoring == RouterScoring::kSigmoid ? device::sigmoid_of(logit)
                                                   : device::sqrt_softplus_of(logit);
  });
  return scores;
}

/// NaN speaks for a group as -infinity does.
float group_score(const RouterRule& rule, std::span<const float> choices) {
  std::vector<float> best(choices.begin(), choices.end());
  std::ranges::replace_if(
      best, [](float choice) { return std::isnan(choice); },
      -std::numeric_limits<float>::infinity());
  std::ranges::sort(best, std::ranges::greater{});
  return rule.group_score == GroupScore::kMaximum ? best[0] : best[0] + best[1];
}

/// Whether the experts of each group can be chosen.
std::vector<bool> chosen_groups(const RouterRule& rule, std::span<const float> choices) {
  std::vector<bool> is_chosen(size_of(rule.group_count), true);
  if (rule.top_group_count == rule.group_count) {
    return is_chosen;
  }
  const std::size_t group_size = choices.size() / is_chosen.size();
  std::vector<float> scores;
  scores.reserve(is_chosen.size());
  for (std::size_t group = 0; group < is_chosen.size(); ++group) {
    scores.push_back(group_score(rule, choices.subspan(group * group_size, group_size)));
  }
  const std::vector<std::size_t> order = falling_order(scores);
  for (std::size_t place = size_of(rule.top_group_count); place < order.size(); ++place) {
    is_chosen[order[place]] = false;
  }
  return is_chosen;
}

void route_row(const RouterCase& router, std::size_t row, RouterPicks& picks) {
  const RouterRule& rule = router.rule;
  const std::size_t expert_count = size_of(rule.expert_count);
  const std::size_t top_k = size_of(rule.top_k);
  const std::vector<float> scores =
      scores_of(rule, std::span(router.logits).subspan(row * expert_count, expert_count));
  std::vector<float> choices = scores;
  for (std::size_t expert = 0; expert < router.choice_bias.size(); ++expert) {
    choices[expert] += router.choice_bias[expert];
  }
  const std::vector<bool> is_chosen = chosen_groups(rule, choices);
  const std::size_t group_size = expert_count / is_chosen.size();
  std::vector<std::size_t> order = falling_order(choices);
  std::erase_if(order, [&](std::size_t expert) { return !is_chosen[expert / group_size]; });
  float sum = 0;
  for (std::size_t pick = 0; pick < top_k; ++pick) {
    const float score = scores[order[pick]];
    picks.logical_ids[row * top_k + pick] = static_cast<std::int64_t>(order[pick]);
    picks.weights[row * top_k + pick] = std::isnan(score) ? 0.0F : score;
    sum += picks.weights[row * top_k + pick];
  }
  for (std::size_t pick = 0; pick < top_k; ++pick) {
    float& weight = picks.weights[row * top_k + pick];
    weight = rule.is_renormalized ? weight / (sum + 1e-20F) : weight;
    weight *= rule.weight_factor;
  }
}

}  // namespace

RouterPicks router_reference(const RouterCase& router) {
  const std::size_t row_count = router.logits.size() / size_of(router.rule.expert_count);
  const std::size_t pick_count = row_count * size_of(router.rule.top_k);
  RouterPicks picks{.logical_ids = std::vector<std::int64_t>(pick_count),
                    .weights = std::vector<float>(pick_count)};
  for_ranges(row_count, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      route_row(router, row, picks);
    }
  });
  return picks;
}

}  // namespace eplb::gpu::test
