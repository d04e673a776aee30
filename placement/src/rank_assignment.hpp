#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace eplb::placement {

/// The column given to each row of a square matrix, [rows], each to one, so that the sum of
/// `gain[row * size + column]` is largest: the Hungarian method with potentials, which takes size^3
/// steps. The same choice everywhere among equals, as gains are whole numbers.
[[nodiscard]] std::vector<std::size_t> assign_best(const std::vector<std::int64_t>& gain,
                                                   std::size_t size);

/// Occupants of the slots, [slots], when each pack of experts, all of one size, goes to a rank of
/// its own, so that as many rows as can are held by their rank already. `held` is [ranks *
/// experts], not 0 where a rank holds an expert now; there are as many packs as ranks.
[[nodiscard]] std::vector<std::size_t> on_present_ranks(
    const std::vector<std::vector<std::size_t>>& packs, std::span<const std::uint8_t> held);

}  // namespace eplb::placement
