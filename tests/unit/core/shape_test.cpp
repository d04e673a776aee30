// Goal: a shape's sizes follow from its counts, and no illegal one passes. Method: values, each
// limit and the count beyond it, and the messages a person reads.
#include "eplb/core/shape.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace eplb {
namespace {

constexpr std::int32_t kLargestInt = std::numeric_limits<std::int32_t>::max();

constexpr Shape kV41Flash{.layer_count = 40,
                          .expert_count = 384,
                          .redundant_slot_count = 32,
                          .rank_count = 32,
                          .expert_group_count = 1};

/// The message that refuses a shape, or "" where it is legal.
std::string refusal(const Shape& shape) {
  const Result<void> valid = validate(shape);
  if (valid) {
    return "";
  }
  CHECK(valid.error().code == ErrorCode::kInvalidArgument);
  return valid.error().message;
}

TEST_CASE("a shape counts its slots and its slots a rank") {
  CHECK(kV41Flash.slot_count() == 416);
  CHECK(kV41Flash.slots_per_rank() == 13);
}

TEST_CASE("shapes at the limits of what is legal are accepted") {
  const std::vector<Shape> legal{
      kV41Flash,
      {.layer_count = 0, .expert_count = 1, .redundant_slot_count = 0, .rank_count = 1},
      {.layer_count = 1, .expert_count = 1, .redundant_slot_count = 1023, .rank_count = 1024},
      {.layer_count = 1, .expert_count = kMaxExperts, .redundant_slot_count = 0, .rank_count = 1},
      {.layer_count = 58,
       .expert_count = 256,
       .redundant_slot_count = 32,
       .rank_count = 288,
       .expert_group_count = 8},
  };
  for (const Shape& shape : legal) {
    CHECK(refusal(shape).empty());
  }
}

TEST_CASE("a count out of range is refused by name and value") {
  const auto with = [](auto Shape::*member, std::int32_t value) {
    Shape shape = kV41Flash;
    shape.*member = value;
    return refusal(shape);
  };
  CHECK(with(&Shape::layer_count, -1) == "layers must not be negative, got -1");
  CHECK(with(&Shape::expert_count, 0) == "experts must be in [1, 1048576], got 0");
  CHECK(with(&Shape::expert_count, -384) == "experts must be in [1, 1048576], got -384");
  CHECK(with(&Shape::expert_count, kMaxExperts + 1) ==
        "experts must be in [1, 1048576], got 1048577");
  CHECK(with(&Shape::expert_count, kLargestInt) ==
        "experts must be in [1, 1048576], got 2147483647");
  CHECK(with(&Shape::rank_count, 0) == "ranks must be at least 1, got 0");
  CHECK(with(&Shape::rank_count, -32) == "ranks must be at least 1, got -32");
  CHECK(with(&Shape::redundant_slot_count, -1) == "redundant experts must be in [0, 1023], got -1");
  CHECK(with(&Shape::redundant_slot_count, 1024) ==
        "redundant experts must be in [0, 1023], got 1024");
  CHECK(with(&Shape::expert_group_count, 0) == "384 experts cannot be divided into 0 groups");
  CHECK(with(&Shape::expert_group_count, 5) == "384 experts cannot be divided into 5 groups");
}

TEST_CASE("slots that do not divide over ranks are refused with the nearest legal redundancy") {
  CHECK(refusal(
            {.layer_count = 1, .expert_count = 256, .redundant_slot_count = 0, .rank_count = 3}) ==
        "256 experts + 0 redundant cannot be divided over 3 ranks; the nearest legal redundancy is "
        "2");
  CHECK(
      refusal(
          {.layer_count = 1, .expert_count = 384, .redundant_slot_count = 33, .rank_count = 32}) ==
      "384 experts + 33 redundant cannot be divided over 32 ranks; the nearest legal redundancy is "
      "64");
}

TEST_CASE("no redundancy is suggested where none is legal") {
  CHECK(
      refusal(
          {.layer_count = 1, .expert_count = 256, .redundant_slot_count = 0, .rank_count = 1500}) ==
      "256 experts + 0 redundant cannot be divided over 1500 ranks; no larger redundancy is legal");
  CHECK(
      refusal({.layer_count = 1,
               .expert_count = 4,
               .redundant_slot_count = 1023,
               .rank_count = kLargestInt}) ==
      "4 experts + 1023 redundant cannot be divided over 2147483647 ranks; no larger redundancy is "
      "legal");
}

TEST_CASE("the nearest legal redundancy is the least at or above the wanted one") {
  const auto next = [](std::int32_t wanted, std::int32_t ranks) {
    return nearest_legal_redundancy({.layer_count = 1,
                                     .expert_count = 256,
                                     .redundant_slot_count = wanted,
                                     .rank_count = ranks});
  };
  CHECK(next(0, 32) == 0);
  CHECK(next(1, 32) == 32);
  CHECK(next(32, 32) == 32);
  CHECK(next(33, 32) == 64);
  CHECK(next(0, 288) == 32);
}

}  // namespace
}  // namespace eplb
