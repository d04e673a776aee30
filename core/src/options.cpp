#include "eplb/core/options.hpp"

#include <algorithm>

namespace eplb {
namespace {

/// Bytes of a parameter as an exact fraction, scales included.
struct BytesPerParameter {
  std::int64_t numerator;
  std::int64_t denominator;
};

BytesPerParameter bytes_per_parameter(WeightFormat format) {
  switch (format) {
    case WeightFormat::kBf16:
      return {2, 1};
    case WeightFormat::kFp8Block128:
      return {16384 + 4, 16384};
    case WeightFormat::kMxfp8:
      return {32 + 1, 32};
    case WeightFormat::kMxfp4:
      return {16 + 1, 32};
    case WeightFormat::kNvfp4:
      return {8 + 1, 16};
    case WeightFormat::kInt4Group32:
      return {16 + 2, 32};
  }
  return {2, 1};
}

std::int64_t parameters_per_expert(const ModelOptions& model) {
  return std::int64_t{3} * model.hidden * model.moe_intermediate;
}

}  // namespace

std::int64_t bytes_per_expert(const ModelOptions& model) {
  const BytesPerParameter bytes = bytes_per_parameter(model.weight_format);
  const std::int64_t scaled = parameters_per_expert(model) * bytes.numerator;
  return (scaled + bytes.denominator - 1) / bytes.denominator;
}

double flops_per_row(const ModelOptions& model) {
  return 2.0 * static_cast<double>(parameters_per_expert(model));
}

Shape shape_of(const ModelOptions& model, const ParallelOptions& parallel,
               const EplbOptions& eplb) {
  return Shape{.layer_count = model.moe_layers,
               .expert_count = model.logical_experts,
               .redundant_slot_count = eplb.enabled ? eplb.num_redundant_experts : 0,
               .rank_count = parallel.ranks,
               .expert_group_count = model.expert_groups};
}

std::int32_t default_landing_rows(const Shape& shape) {
  constexpr std::int64_t kShare = 8;
  const std::int64_t slots = shape.slots_per_rank();
  const std::int64_t share = (slots * shape.layer_count + kShare - 1) / kShare;
  return static_cast<std::int32_t>(std::max(slots, share));
}

}  // namespace eplb
