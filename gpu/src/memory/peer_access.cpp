#include "peer_access.hpp"

#include <cuda_runtime_api.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "eplb/core/digest.hpp"
#include "eplb/gpu/error.hpp"

namespace eplb::gpu {
namespace {

/// The kernel's number for this start of the host; names of hosts are not always their own.
std::uint64_t host_digest() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  utsname names{};
  if (uname(&names) == 0) {
    text += static_cast<const char*>(names.nodename);
  }
  return digest_of(text);
}

std::optional<std::array<char, 16>> uuid_of(int device) {
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, device) != cudaSuccess) {
    return std::nullopt;
  }
  std::array<char, 16> uuid{};
  static_assert(sizeof(properties.uuid.bytes) == sizeof(uuid));
  std::memcpy(uuid.data(), &properties.uuid.bytes, sizeof(uuid));
  return uuid;
}

/// This process's number for a device that another may number differently.
std::optional<int> ordinal_of(const std::array<char, 16>& uuid) {
  int device_count = 0;
  if (cudaGetDeviceCount(&device_count) != cudaSuccess) {
    return std::nullopt;
  }
  for (int device = 0; device < device_count; ++device) {
    if (uuid_of(device) == uuid) {
      return device;
    }
  }
  return std::nullopt;
}

Result<void> check_device(const PeerGroup& group, const PeerCard& card, std::size_t rank) {
  const std::string name = "rank " + std::to_string(rank);
  const std::optional<int> device = ordinal_of(card.device);
  if (!device.has_value()) {
    return fail(ErrorCode::kUnsupported, "the device of " + name +
                                             " is hidden from this process: let every process see "
                                             "the devices of its host (CUDA_VISIBLE_DEVICES)");
  }
  int can_access = *device == group.device ? 1 : 0;
  if (can_access == 0 &&
      (cudaDeviceCanAccessPeer(&can_access, group.device, *device) != cudaSuccess ||
       can_access == 0)) {
    return fail(ErrorCode::kUnsupported,
                "device " + std::to_string(group.device) + " cannot write the memory of device " +
                    std::to_string(*device) + " (" + name + "): there is no peer access");
  }
  return {};
}

}  // namespace

Result<PeerCard> card_of(int device, std::int64_t bytes, bool is_granted_fabric) {
  const std::optional<std::array<char, 16>> uuid = uuid_of(device);
  if (!uuid.has_value()) {
    return fail(ErrorCode::kDevice, "no device " + std::to_string(device));
  }
  PeerCard card;
  card.device = *uuid;
  card.host = host_digest();
  card.process = getpid();
  card.bytes = bytes;
  card.is_granted_fabric = is_granted_fabric ? 1 : 0;
  return card;
}

bool is_same_process(const PeerCard& one, const PeerCard& other) {
  return one.host == other.host && one.process == other.process;
}

Result<void> check_reach(const PeerGroup& group, const std::vector<PeerCard>& cards) {
  const PeerCard& own = cards[group.rank.index()];
  for (std::size_t rank = 0; rank < cards.size(); ++rank) {
    const PeerCard& card = cards[rank];
    if (card.bytes != own.bytes || card.bytes <= 0) {
      return fail(ErrorCode::kInvalidArgument,
                  "rank " + std::to_string(rank) + " asks for " + std::to_string(card.bytes) +
                      " symmetric bytes and rank " + std::to_string(group.rank.value) + " for " +
                      std::to_string(own.bytes) + ": they must be equal and more than 0");
    }
    if (card.host == own.host) {
      if (Result<void> checked = check_device(group, card, rank); !checked) {
        return checked;
      }
    }
  }
  return {};
}

}  // namespace eplb::gpu
