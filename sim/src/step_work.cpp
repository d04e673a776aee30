#include "step_work.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace eplb::sim {
namespace {

constexpr double kNsPerMs = 1e6;

std::int64_t decode_rows(const ServingOptions& serving) {
  return std::int64_t{serving.requests_per_rank} * serving.tokens_per_request;
}

}  // namespace

double mean_rows_per_rank(const ServingOptions& serving) {
  return static_cast<double>(decode_rows(serving)) + serving.prefill_tokens_mean;
}

StepWork::StepWork(const ServingOptions& serving, std::uint64_t seed)
    : serving_(serving),
      random_(seed, "ranks"),
      prefill_sigma_(std::sqrt(std::log1p(serving.prefill_tokens_cv * serving.prefill_tokens_cv))) {
}

bool StepWork::ranks_differ() const {
  return serving_.rank_imbalance > 0 ||
         (serving_.prefill_tokens_mean > 0 && serving_.prefill_tokens_cv > 0);
}

void StepWork::draw_rank(std::size_t rank, double& others_ms) {
  double prefill = serving_.prefill_tokens_mean;
  if (prefill > 0 && prefill_sigma_ > 0) {
    const double log_factor =
        prefill_sigma_ * random_.normal() - prefill_sigma_ * prefill_sigma_ / 2;
    prefill = std::round(prefill * std::exp(log_factor));
  }
  const double of_requests_ms = serving_.other_kernels_per_request_ms * serving_.requests_per_rank;
  const double factor =
      serving_.rank_imbalance > 0 ? 1 + serving_.rank_imbalance * random_.quick_normal() : 1;
  step_.rows[rank] = decode_rows(serving_) + std::llround(prefill);
  others_ms = serving_.other_kernels_base_ms + of_requests_ms * std::max(factor, 0.0) +
              serving_.other_kernels_per_prefill_token_ms * prefill;
}

const StepWork::Step& StepWork::draw(std::int32_t rank_count) {
  const auto ranks = static_cast<std::size_t>(rank_count);
  if (!ranks_differ() && step_.rows.size() == ranks) {
    return step_;
  }
  step_.rows.resize(ranks);
  double sum_ms = 0;
  double longest_ms = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    double others_ms = 0;
    draw_rank(rank, others_ms);
    sum_ms += others_ms;
    longest_ms = std::max(longest_ms, others_ms);
  }
  step_.row_count = std::accumulate(step_.rows.begin(), step_.rows.end(), std::int64_t{0});
  step_.others_ns = ranks_differ() ? sum_ms / rank_count * kNsPerMs : longest_ms * kNsPerMs;
  step_.wait_ns = longest_ms * kNsPerMs - step_.others_ns;
  return step_;
}

}  // namespace eplb::sim
