#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "eplb/gpu/memory/exchange.hpp"

namespace eplb::gpu {

/// What a rank tells of itself before anyone takes memory.
struct PeerCard {
  std::array<char, 16> device{};  ///< The device's UUID, the same in every process.
  std::uint64_t host = 0;         ///< A digest that tells hosts apart.
  std::int64_t process = 0;
  std::int64_t bytes = 0;
  std::uint8_t is_granted_fabric = 0;
  std::array<std::uint8_t, 7> padding{};
};

/// This rank's card. kDevice if there is no such device.
[[nodiscard]] Result<PeerCard> card_of(int device, std::int64_t bytes, bool is_granted_fabric);

[[nodiscard]] bool is_same_process(const PeerCard& one, const PeerCard& other);

/// Whether this rank's device can write the memory of all others on its host, as far as the runtime
/// can tell, and all ask for the same bytes, more than 0. kUnsupported if a device is out of reach
/// or hidden from this process, kInvalidArgument for the bytes.
[[nodiscard]] Result<void> check_reach(const PeerGroup& group, const std::vector<PeerCard>& cards);

}  // namespace eplb::gpu
