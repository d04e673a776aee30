#include "staging_case.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

namespace eplb::gpu::test {
namespace {

std::uint16_t to_bf16(double value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16U);
}

std::uint16_t drawn_activation(Filling filling, Draw& draw) {
  constexpr std::uint16_t kInfinity = 0x7F80;
  const auto bits = static_cast<std::uint16_t>(draw.bits() >> 48U);
  switch (filling) {
    case Filling::kZero:
      return bits & 0x8000U;
    case Filling::kTiny:
      return static_cast<std::uint16_t>(to_bf16(1e-6) | (bits & 0x8000U));
    case Filling::kAnyBits:  // NaN, infinities and subnormals among them.
      return bits;
    case Filling::kInfinities:
      if (draw.chance(0.01)) {
        return static_cast<std::uint16_t>(kInfinity | (bits & 0x8000U));
      }
      break;
    case Filling::kRandom:
      break;
  }
  // Sixteen exponents up to 1's, so that groups reach their formats' subnormals.
  return static_cast<std::uint16_t>((bits & 0x87FFU) | 0x3800U);
}

}  // namespace

std::vector<std::uint16_t> drawn_activations(std::size_t size, Filling filling, Draw& draw) {
  std::vector<std::uint16_t> activations(size);
  std::ranges::generate(activations, [&] { return drawn_activation(filling, draw); });
  return activations;
}

RoutingCase drawn_routing(const PickOptions& pick, const LayerMap& map, std::int32_t slot_count,
                          Draw& draw) {
  RoutingCase routing;
  routing.maps = draw.chance(0.75);
  routing.counts_slots = draw.chance(0.5);
  routing.row_count = pick.row_count;
  routing.filled_row_count = draw.chance(0.3) ? pick.row_count + draw.below(70) : 0;
  routing.weight_factor = draw.chance(0.5) ? 1.0F : 2.5F;
  MapCase& map_case = routing.map_case;
  map_case.logical_ids = draw_picks(pick, draw);
  map_case.top_k = pick.top_k;
  map_case.map = &map;
  map_case.choice = draw_choice(draw);
  map_case.rank = static_cast<std::uint32_t>(draw.below(1024));
  map_case.layer = static_cast<std::uint32_t>(draw.below(128));
  map_case.is_recording = draw.chance(0.75);
  map_case.slot_count = slot_count;
  if (draw.chance(0.5)) {
    map_case.unpadded_row_count = draw.below(pick.row_count + 2) - 1;
  }
  const bool has_padding = draw.chance(0.5);
  for (std::int32_t row = 0; row < pick.row_count; ++row) {
    const bool is_padding = has_padding && draw.chance(0.3);
    if (has_padding) {
      map_case.is_padding.push_back(
          static_cast<std::uint8_t>(is_padding ? 1 + draw.below(255) : 0));
    }
    for (std::int32_t column = 0; column < pick.top_k; ++column) {
      routing.weights.push_back(is_padding ? std::numeric_limits<float>::quiet_NaN()
                                           : static_cast<float>(draw.fraction()));
    }
  }
  return routing;
}

RoutingOutcome expected_routing(const RoutingCase& routing) {
  const MapCase& map_case = routing.map_case;
  MapOutcome mapped = map_and_record_reference(map_case);
  RoutingOutcome outcome{.slot_ids = routing.maps ? mapped.slot_ids : map_case.logical_ids,
                         .weights = routing.weights,
                         .logical_counts = mapped.logical_counts,
                         .slot_counts = mapped.slot_counts};
  if (!routing.maps) {
    std::ranges::fill(outcome.logical_counts, 0);
  }
  if (!routing.maps || !routing.counts_slots) {
    std::ranges::fill(outcome.slot_counts, 0);
  }
  const auto top_k = static_cast<std::size_t>(map_case.top_k);
  for (std::size_t pick = 0; pick < routing.weights.size(); ++pick) {
    outcome.weights[pick] *= routing.weight_factor;
    if (!map_case.is_padding.empty() && map_case.is_padding[pick / top_k] != 0) {
      outcome.slot_ids[pick] = -1;
      outcome.weights[pick] = 0;
    }
  }
  const auto rows = static_cast<std::size_t>(std::max(routing.row_count, routing.filled_row_count));
  outcome.slot_ids.resize(rows * top_k, -1);
  outcome.weights.resize(rows * top_k, 0);
  return outcome;
}

}  // namespace eplb::gpu::test
