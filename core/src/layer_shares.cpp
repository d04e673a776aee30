#include "eplb/core/layer_shares.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <string>

#include "eplb/core/assert.hpp"
#include "eplb/core/layer_map.hpp"

namespace eplb {
namespace {

/// Deals kShareUnits to an expert's slots by `weight_of(slot)`, largest remainders first, ties to
/// the lowest slot.
template <typename WeightOf>
void deal_units(std::span<const std::int32_t> slots, const WeightOf& weight_of,
                std::vector<std::uint16_t>& units) {
  double sum = 0;
  for (const std::int32_t slot : slots) {
    sum += weight_of(slot);
  }
  std::vector<std::pair<double, std::int32_t>> remainders;  // Negated, so that they sort ascending.
  remainders.reserve(slots.size());
  std::uint32_t left = kShareUnits;
  for (const std::int32_t slot : slots) {
    const double share = sum > 0 ? weight_of(slot) / sum : 1.0 / static_cast<double>(slots.size());
    const double wanted = share * kShareUnits;
    const auto whole = std::min(static_cast<std::uint32_t>(std::floor(wanted)), left);
    units[static_cast<std::size_t>(slot)] = static_cast<std::uint16_t>(whole);
    left -= whole;
    remainders.emplace_back(whole - wanted, slot);
  }
  std::ranges::stable_sort(remainders, std::ranges::less{},
                           &std::pair<double, std::int32_t>::first);
  // Fewer than there are slots, but for the rounding of the sum, which may leave one more.
  for (std::size_t next = 0; left > 0; --left, ++next) {
    ++units[static_cast<std::size_t>(remainders[next % remainders.size()].second)];
  }
}

template <typename WeightOf>
std::vector<std::uint16_t> units_of(const LayerPlacement& placement, const WeightOf& weight_of) {
  const LayerMap map = LayerMap::from(placement);
  std::vector<std::uint16_t> units(static_cast<std::size_t>(placement.slot_count()), 0);
  for (std::int32_t expert = 0; expert < placement.expert_count(); ++expert) {
    deal_units(map.slots(LogicalExpertId{expert}), weight_of, units);
  }
  return units;
}

}  // namespace

Result<LayerShares> LayerShares::create(const LayerPlacement& placement,
                                        std::vector<std::uint16_t> units) {
  const auto invalid = [](const std::string& message) {
    return fail(ErrorCode::kInvalidArgument, message);
  };
  if (units.size() != static_cast<std::size_t>(placement.slot_count())) {
    return invalid("shares must have an entry for each of " +
                   std::to_string(placement.slot_count()) + " slots, got " +
                   std::to_string(units.size()));
  }
  std::vector<std::uint32_t> sums(static_cast<std::size_t>(placement.expert_count()), 0);
  for (std::int32_t slot = 0; slot < placement.slot_count(); ++slot) {
    const LogicalExpertId expert = placement.occupant(SlotId{slot});
    const std::uint16_t share = units[static_cast<std::size_t>(slot)];
    if (expert != kNoExpert) {
      sums[expert.index()] += share;
    } else if (share != 0) {
      return invalid("slot " + std::to_string(slot) + " is empty and has a share");
    }
  }
  const auto odd = std::ranges::find_if(sums, [](auto sum) { return sum != kShareUnits; });
  if (odd != sums.end()) {
    return invalid("the shares of expert " + std::to_string(odd - sums.begin()) + " sum to " +
                   std::to_string(*odd) + ", not to " + std::to_string(kShareUnits));
  }
  return LayerShares(std::move(units));
}

LayerShares LayerShares::even(const LayerPlacement& placement) {
  return LayerShares(units_of(placement, [](std::int32_t) { return 0.0; }));
}

LayerShares LayerShares::nearest(const LayerPlacement& placement, std::span<const double> weights) {
  EPLB_ASSERT_OP(weights.size(), ==, static_cast<std::size_t>(placement.slot_count()));
  return LayerShares(units_of(
      placement, [weights](std::int32_t slot) { return weights[static_cast<std::size_t>(slot)]; }));
}

}  // namespace eplb
