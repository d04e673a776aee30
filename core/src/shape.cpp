#include "eplb/core/shape.hpp"

#include <string>

namespace eplb {

std::int32_t nearest_legal_redundancy(const Shape& shape) {
  const std::int32_t over = shape.slot_count() % shape.rank_count;
  return shape.redundant_slot_count + (over == 0 ? 0 : shape.rank_count - over);
}

Result<void> validate(const Shape& shape) {
  const auto invalid = [](std::string message) {
    return fail(ErrorCode::kInvalidArgument, std::move(message));
  };
  if (shape.layer_count < 0) {
    return invalid("layers must not be negative, got " + std::to_string(shape.layer_count));
  }
  if (shape.expert_count < 1 || shape.expert_count > kMaxExperts) {
    return invalid("experts must be in [1, " + std::to_string(kMaxExperts) + "], got " +
                   std::to_string(shape.expert_count));
  }
  if (shape.rank_count < 1) {
    return invalid("ranks must be at least 1, got " + std::to_string(shape.rank_count));
  }
  if (shape.redundant_slot_count < 0 || shape.redundant_slot_count > kMaxRedundantSlots) {
    return invalid("redundant experts must be in [0, " + std::to_string(kMaxRedundantSlots) +
                   "], got " + std::to_string(shape.redundant_slot_count));
  }
  if (shape.expert_group_count < 1 || shape.expert_count % shape.expert_group_count != 0) {
    return invalid(std::to_string(shape.expert_count) + " experts cannot be divided into " +
                   std::to_string(shape.expert_group_count) + " groups");
  }
  if (shape.slot_count() % shape.rank_count != 0) {
    const std::int32_t legal = nearest_legal_redundancy(shape);
    return invalid(
        std::to_string(shape.expert_count) + " experts + " +
        std::to_string(shape.redundant_slot_count) + " redundant cannot be divided over " +
        std::to_string(shape.rank_count) + " ranks; " +
        (legal <= kMaxRedundantSlots ? "the nearest legal redundancy is " + std::to_string(legal)
                                     : "no larger redundancy is legal"));
  }
  return {};
}

}  // namespace eplb
