#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "draw.hpp"
#include "reference/map_and_record_reference.hpp"
#include "workload.hpp"

namespace eplb::gpu::test {

/// What activations are made of.
enum class Filling : std::uint8_t { kRandom, kZero, kTiny, kInfinities, kAnyBits };

inline constexpr std::array kFillings{Filling::kRandom, Filling::kZero, Filling::kTiny,
                                      Filling::kInfinities, Filling::kAnyBits};

[[nodiscard]] std::vector<std::uint16_t> drawn_activations(std::size_t size, Filling filling,
                                                           Draw& draw);

/// A routing, and what must come of it.
struct RoutingCase {
  MapCase map_case;
  bool maps = true;
  bool counts_slots = true;
  std::int32_t row_count = 0;
  std::int32_t filled_row_count = 0;
  float weight_factor = 1.0F;
  std::vector<float> weights;
};

[[nodiscard]] RoutingCase drawn_routing(const PickOptions& pick, const LayerMap& map,
                                        std::int32_t slot_count, Draw& draw);

/// What a staging launch writes of a routing, and adds to the counts.
struct RoutingOutcome {
  std::vector<std::int64_t> slot_ids;
  std::vector<float> weights;
  std::vector<std::int32_t> logical_counts;
  std::vector<std::int32_t> slot_counts;
};

[[nodiscard]] RoutingOutcome expected_routing(const RoutingCase& routing);

}  // namespace eplb::gpu::test
