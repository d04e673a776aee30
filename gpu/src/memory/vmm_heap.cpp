#include "eplb/gpu/memory/vmm_heap.hpp"

#include <cuda_runtime_api.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <string>
#include <utility>

#include "eplb/gpu/error.hpp"
#include "eplb/gpu/memory/device_entry.hpp"
#include "eplb/gpu/memory/driver_api.hpp"
#include "eplb/gpu/memory/exchange.hpp"
#include "file_handover.hpp"
#include "peer_access.hpp"
#include "vmm_mapping.hpp"

namespace eplb::gpu {
namespace {

/// What each rank hands over once its memory is there.
struct Offer {
  CUmemFabricHandle fabric{};
  CUmemGenericAllocationHandle handle = 0;  ///< Means something in the process that made it.
};

CUmemAllocationHandleType type_of(HandleKind kind) {
  switch (kind) {
    case HandleKind::kFabric:
      return CU_MEM_HANDLE_TYPE_FABRIC;
    case HandleKind::kPosixFile:
      return CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    case HandleKind::kAuto:
      break;
  }
  return CU_MEM_HANDLE_TYPE_NONE;
}

CUmemAllocationProp properties_of(int device, HandleKind kind) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = type_of(kind);
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  return properties;
}

}  // namespace

struct VmmHeap::State {
  PeerGroup group;
  HandleKind wanted = HandleKind::kAuto;
  DriverApi driver;
  HandleKind kind = HandleKind::kAuto;
  std::int64_t taken_bytes = 0;
  std::vector<VmmMapping> mappings;  ///< By rank.
  std::vector<std::byte*> bases;

  void clear() {
    mappings.clear();
    bases.clear();
    taken_bytes = 0;
    kind = HandleKind::kAuto;
  }

  [[nodiscard]] Result<std::size_t> granularity(HandleKind of_kind) const {
    const CUmemAllocationProp properties = properties_of(group.device, of_kind);
    std::size_t granularity = 0;
    const CUresult code = driver.mem_get_allocation_granularity(
        &granularity, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
    if (code != CUDA_SUCCESS || granularity == 0) {
      return fail(ErrorCode::kUnsupported,
                  "cuMemGetAllocationGranularity: " + driver.name_of(code));
    }
    return granularity;
  }

  [[nodiscard]] Result<VmmHandle> allocate(std::size_t bytes, HandleKind of_kind) const {
    const CUmemAllocationProp properties = properties_of(group.device, of_kind);
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    EPLB_CUDA(cudaMemGetInfo(&free_bytes, &total_bytes));
    CUmemGenericAllocationHandle handle = 0;
    const CUresult code = bytes > free_bytes ? CUDA_ERROR_OUT_OF_MEMORY
                                             : driver.mem_create(&handle, bytes, &properties, 0);
    if (code == CUDA_ERROR_OUT_OF_MEMORY) {
      return fail(ErrorCode::kResourceExhausted, "the landing pool needs " + std::to_string(bytes) +
                                                     " bytes of the device, and " +
                                                     std::to_string(free_bytes) + " are free");
    }
    if (code != CUDA_SUCCESS) {
      return fail(ErrorCode::kUnsupported,
                  "cuMemCreate of " + std::to_string(bytes) + " bytes: " + driver.name_of(code));
    }
    return VmmHandle(driver, handle);
  }

  /// Whether this process is granted fabric memory, which only asking for some can tell.
  [[nodiscard]] bool is_granted_fabric() const {
    const Result<std::size_t> bytes = granularity(HandleKind::kFabric);
    if (!bytes) {
      return false;
    }
    const Result<VmmHandle> probe = allocate(*bytes, HandleKind::kFabric);
    if (!probe) {
      return false;
    }
    CUmemFabricHandle exported{};
    return driver.mem_export(&exported, probe->get(), CU_MEM_HANDLE_TYPE_FABRIC, 0) == CUDA_SUCCESS;
  }

  [[nodiscard]] Result<HandleKind> choose_kind(const std::vector<PeerCard>& cards) const;
  [[nodiscard]] Result<Offer> offer(const VmmHandle& memory) const;
  [[nodiscard]] Result<VmmMapping> map_peer(std::size_t rank, const std::vector<PeerCard>& cards,
                                            const std::vector<Offer>& offers,
                                            const std::vector<FileDescriptor>& files) const;
  [[nodiscard]] Result<void> map_all(const std::vector<PeerCard>& cards, const VmmHandle& memory);
  [[nodiscard]] Result<std::vector<FileDescriptor>> exchange_files(const VmmHandle& memory) const;
  [[nodiscard]] Result<void> reserve(std::int64_t bytes, const Result<void>& so_far);
};

Result<HandleKind> VmmHeap::State::choose_kind(const std::vector<PeerCard>& cards) const {
  const PeerCard& own = cards[group.rank.index()];
  const bool one_process =
      std::ranges::all_of(cards, [&](const PeerCard& card) { return is_same_process(card, own); });
  if (one_process) {
    return HandleKind::kAuto;
  }
  const bool one_host =
      std::ranges::all_of(cards, [&](const PeerCard& card) { return card.host == own.host; });
  const bool all_fabric =
      std::ranges::all_of(cards, [](const PeerCard& card) { return card.is_granted_fabric != 0; });
  if (all_fabric && wanted != HandleKind::kPosixFile) {
    return HandleKind::kFabric;
  }
  if (wanted == HandleKind::kFabric || !one_host) {
    return fail(ErrorCode::kUnsupported,
                "fabric memory, which is asked for or which ranks on several hosts need, is not "
                "granted to all ranks: it takes one NVLink domain and an IMEX channel for each");
  }
  return HandleKind::kPosixFile;
}

Result<Offer> VmmHeap::State::offer(const VmmHandle& memory) const {
  Offer offered{.fabric = {}, .handle = memory.get()};
  if (kind == HandleKind::kFabric) {
    const CUresult code =
        driver.mem_export(&offered.fabric, memory.get(), CU_MEM_HANDLE_TYPE_FABRIC, 0);
    if (code != CUDA_SUCCESS) {
      return fail(ErrorCode::kUnsupported, "export as fabric memory: " + driver.name_of(code));
    }
  }
  return offered;
}

Result<std::vector<FileDescriptor>> VmmHeap::State::exchange_files(const VmmHandle& memory) const {
  if (kind != HandleKind::kPosixFile) {
    return std::vector<FileDescriptor>(static_cast<std::size_t>(group.rank_count));
  }
  int number = -1;
  const CUresult code =
      driver.mem_export(&number, memory.get(), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  const FileDescriptor exported(code == CUDA_SUCCESS ? number : -1);
  Result<void> standing;
  if (code != CUDA_SUCCESS) {
    standing = fail(ErrorCode::kUnsupported, "export as a file: " + driver.name_of(code));
  }
  if (const Result<void> agreed = agree(group, standing); !agreed) {
    return tl::unexpected(agreed.error());
  }
  return hand_over_files(group, exported.get());
}

Result<VmmMapping> VmmHeap::State::map_peer(std::size_t rank, const std::vector<PeerCard>& cards,
                                            const std::vector<Offer>& offers,
                                            const std::vector<FileDescriptor>& files) const {
  const auto bytes = static_cast<std::size_t>(taken_bytes);
  if (is_same_process(cards[rank], cards[group.rank.index()])) {
    return VmmMapping::map(driver, offers[rank].handle, bytes, group.device);
  }
  CUmemFabricHandle fabric = offers[rank].fabric;
  // The driver takes a descriptor's number in place of an address.
  void* const handle =
      kind == HandleKind::kFabric
          ? static_cast<void*>(&fabric)
          // NOLINTNEXTLINE(performance-no-int-to-ptr): this is how the driver's interface is.
          : reinterpret_cast<void*>(static_cast<std::uintptr_t>(files[rank].get()));
  CUmemGenericAllocationHandle imported = 0;
  const CUresult code = driver.mem_import(&imported, handle, type_of(kind));
  if (code != CUDA_SUCCESS) {
    return fail(ErrorCode::kUnsupported, "memory of rank " + std::to_string(rank) +
                                             " cannot be imported: " + driver.name_of(code));
  }
  const VmmHandle owner(driver, imported);
  return VmmMapping::map(driver, imported, bytes, group.device);
}

Result<void> VmmHeap::State::map_all(const std::vector<PeerCard>& cards, const VmmHandle& memory) {
  const Result<std::vector<Offer>> offers = exchange(group, offer(memory));
  if (!offers) {
    return tl::unexpected(offers.error());
  }
  const Result<std::vector<FileDescriptor>> files = exchange_files(memory);
  if (!files) {
    return tl::unexpected(files.error());
  }
  Result<void> mapped;
  mappings.reserve(offers->size());
  bases.reserve(offers->size());
  for (std::size_t rank = 0; rank < offers->size() && mapped; ++rank) {
    Result<VmmMapping> mapping = map_peer(rank, cards, *offers, *files);
    if (mapping) {
      bases.push_back(mapping->base());
      mappings.push_back(std::move(*mapping));
    } else {
      mapped = tl::unexpected(mapping.error());
    }
  }
  // No handle or file is closed before all have mapped it.
  return agree(group, mapped);
}

Result<void> VmmHeap::State::reserve(std::int64_t bytes, const Result<void>& so_far) {
  const auto introduce = [&]() -> Result<PeerCard> {
    if (!so_far) {
      return tl::unexpected(so_far.error());
    }
    const bool asks_fabric = wanted != HandleKind::kPosixFile;
    return card_of(group.device, bytes, asks_fabric && is_granted_fabric());
  };
  const Result<std::vector<PeerCard>> cards = exchange(group, introduce());
  if (!cards) {
    return tl::unexpected(cards.error());
  }
  // Every rank sees the same cards, but each looks from its own device: so they agree once more.
  const Result<void> reachable = check_reach(group, *cards);
  Result<HandleKind> chosen = choose_kind(*cards);
  const Result<void> standing =
      reachable && !chosen ? Result<void>(tl::unexpected(chosen.error())) : reachable;
  if (Result<void> agreed = agree(group, standing); !agreed) {
    return agreed;
  }
  kind = *chosen;
  const Result<std::size_t> unit = granularity(kind);
  Result<VmmHandle> memory = fail(ErrorCode::kInternal, "no memory was asked for");
  if (unit) {
    const std::size_t rounded = (static_cast<std::size_t>(bytes) + *unit - 1) / *unit * *unit;
    taken_bytes = static_cast<std::int64_t>(rounded);
    memory = allocate(rounded, kind);
  } else {
    memory = tl::unexpected(unit.error());
  }
  if (Result<void> agreed = agree(group, memory.map([](const VmmHandle&) {})); !agreed) {
    return agreed;
  }
  return map_all(*cards, *memory);
}

VmmHeap::VmmHeap(std::unique_ptr<State> state) : state_(std::move(state)) {}

VmmHeap::~VmmHeap() = default;

Result<std::unique_ptr<VmmHeap>> VmmHeap::create(PeerGroup group, HandleKind kind) {
  const DeviceEntry entry(group.device);
  Result<DriverApi> driver = DriverApi::load();
  if (!driver) {
    return tl::unexpected(driver.error());
  }
  int has_virtual_memory = 0;
  const CUresult code = driver->device_get_attribute(
      &has_virtual_memory, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, group.device);
  if (code != CUDA_SUCCESS || has_virtual_memory == 0) {
    return fail(ErrorCode::kUnsupported,
                "device " + std::to_string(group.device) + " has no virtual memory management");
  }
  auto state = std::make_unique<State>();
  state->group = std::move(group);
  state->wanted = kind;
  state->driver = *driver;
  return std::unique_ptr<VmmHeap>(new VmmHeap(std::move(state)));
}

Result<void> VmmHeap::reserve(std::int64_t bytes, const Result<void>& so_far) {
  const DeviceEntry entry(state_->group.device);
  state_->clear();
  Result<void> reserved = state_->reserve(bytes, so_far);
  if (!reserved) {
    state_->clear();
  }
  return reserved;
}

void VmmHeap::release() {
  const DeviceEntry entry(state_->group.device);
  state_->clear();
}

std::span<std::byte* const> VmmHeap::bases() const {
  return state_->bases;
}

std::int64_t VmmHeap::taken_bytes() const {
  return state_->taken_bytes;
}

HandleKind VmmHeap::handle_kind() const {
  return state_->kind;
}

}  // namespace eplb::gpu
