#include "eplb/gpu/memory/nccl_heap.hpp"

#include <cuda_runtime_api.h>

#include <cstdio>
#include <optional>
#include <utility>

#include "eplb/gpu/buffer.hpp"
#include "eplb/gpu/memory/device_entry.hpp"
#include "eplb/gpu/memory/exchange.hpp"
#include "eplb/gpu/memory/nccl_api.hpp"
#include "eplb/gpu/memory/nccl_communicator.hpp"
#include "eplb/gpu/stream.hpp"
#include "nccl_window.hpp"
#include "peer_access.hpp"

namespace eplb::gpu {
namespace {

/// ncclMemAlloc takes whole pages of this size, also for fewer bytes.
constexpr std::int64_t kPageBytes = 2 << 20;

Result<void> check_one_rank_a_device(const std::vector<PeerCard>& cards) {
  for (std::size_t one = 0; one < cards.size(); ++one) {
    for (std::size_t other = one + 1; other < cards.size(); ++other) {
      if (cards[one].device == cards[other].device) {
        return fail(ErrorCode::kUnsupported,
                    "ranks " + std::to_string(one) + " and " + std::to_string(other) +
                        " share a device, which NCCL refuses: use the driver's virtual memory");
      }
    }
  }
  return {};
}

/// Where NCCL knows of no symmetric memory, what it hands out is a note of its own for the host.
bool is_on_device(ncclWindow_t window) {
  cudaPointerAttributes attributes{};
  EPLB_CUDA(cudaPointerGetAttributes(&attributes, window));
  return window != nullptr && attributes.type == cudaMemoryTypeDevice;
}

}  // namespace

struct NcclHeap::State {
  ~State() { clear(); }

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  State(State&&) = delete;
  State& operator=(State&&) = delete;

  void clear() {
    bases.clear();
    taken_bytes = 0;
    if (window != nullptr) {
      const ncclResult_t code = api.comm_window_deregister(communicator.get(), window);
      report(communicator.settle("ncclCommWindowDeregister", code));
      window = nullptr;
    }
    if (memory != nullptr) {
      const ncclResult_t code = api.mem_free(memory);
      if (code != ncclSuccess) {
        report(fail(ErrorCode::kDevice, api.described("ncclMemFree", code)));
      }
      memory = nullptr;
    }
  }

  static void report(const Result<void>& result) {
    if (!result) {
      std::fprintf(stderr, "%s\n", result.error().message.c_str());
    }
  }

  [[nodiscard]] Result<void> open() {
    const Result<std::vector<ncclUniqueId>> ids = shared_ids(api, group, 1);
    if (!ids) {
      return tl::unexpected(ids.error());
    }
    Result<NcclCommunicator> opened = NcclCommunicator::open(api, group, ids->front(), {});
    if (Result<void> agreed = agree(group, opened.map([](const NcclCommunicator&) {})); !agreed) {
      return agreed;
    }
    communicator = std::move(*opened);
    return {};
  }

  [[nodiscard]] Result<void> check_domain() const {
    const int reached = api.team_lsa(communicator.get()).nRanks;
    if (reached != group.rank_count) {
      return fail(ErrorCode::kUnsupported, "of " + std::to_string(group.rank_count) +
                                               " ranks only " + std::to_string(reached) +
                                               " lie in this rank's NVLink domain");
    }
    return {};
  }

  [[nodiscard]] Result<void> allocate(std::int64_t bytes) {
    const std::int64_t rounded = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    EPLB_CUDA(cudaMemGetInfo(&free_bytes, &total_bytes));
    if (std::cmp_greater(rounded, free_bytes)) {
      return fail(ErrorCode::kResourceExhausted,
                  "the landing pool needs " + std::to_string(rounded) +
                      " bytes of the device, and " + std::to_string(free_bytes) + " are free");
    }
    const ncclResult_t code = api.mem_alloc(&memory, static_cast<std::size_t>(rounded));
    if (code != ncclSuccess) {
      return fail(ErrorCode::kResourceExhausted, api.described("ncclMemAlloc", code) + ", of " +
                                                     std::to_string(rounded) + " bytes with " +
                                                     std::to_string(free_bytes) + " free");
    }
    taken_bytes = rounded;
    return {};
  }

  [[nodiscard]] Result<void> enter_window() {
    const ncclResult_t code =
        api.comm_window_register(communicator.get(), memory, static_cast<std::size_t>(taken_bytes),
                                 &window, NCCL_WIN_COLL_SYMMETRIC);
    if (Result<void> settled = communicator.settle("ncclCommWindowRegister", code); !settled) {
      return settled;
    }
    if (!is_on_device(window)) {
      return fail(ErrorCode::kUnsupported, "NCCL gives no window over these ranks");
    }
    const auto count = static_cast<std::size_t>(group.rank_count);
    const PinnedBuffer<std::byte*> addresses(count);
    const Stream stream;
    EPLB_CUDA(write_window_addresses(window, addresses.data(), group.rank_count, stream.get()));
    stream.synchronize();
    bases.assign(addresses.span().begin(), addresses.span().end());
    return {};
  }

  [[nodiscard]] Result<void> reserve(std::int64_t bytes, const Result<void>& so_far) {
    const Result<PeerCard> own =
        so_far ? card_of(group.device, bytes, false) : tl::unexpected(so_far.error());
    const Result<std::vector<PeerCard>> cards = exchange(group, own);
    if (!cards) {
      return tl::unexpected(cards.error());
    }
    const Result<void> reachable =
        check_reach(group, *cards).and_then([&] { return check_one_rank_a_device(*cards); });
    if (Result<void> agreed = agree(group, reachable); !agreed) {
      return agreed;
    }
    if (communicator.get() == nullptr) {
      if (Result<void> opened = open(); !opened) {
        return opened;
      }
    }
    if (Result<void> agreed = agree(group, check_domain()); !agreed) {
      return agreed;
    }
    if (Result<void> agreed = agree(group, allocate(bytes)); !agreed) {
      return agreed;
    }
    return agree(group, enter_window());
  }

  PeerGroup group;
  NcclApi api;
  NcclCommunicator communicator;
  void* memory = nullptr;
  ncclWindow_t window = nullptr;
  std::int64_t taken_bytes = 0;
  std::vector<std::byte*> bases;
};

NcclHeap::NcclHeap(std::unique_ptr<State> state) : state_(std::move(state)) {}

NcclHeap::~NcclHeap() = default;

Result<std::unique_ptr<NcclHeap>> NcclHeap::create(PeerGroup group, const std::string& library) {
  const Result<NcclApi> api = NcclApi::load(library);
  if (Result<void> agreed = agree(group, api.map([](const NcclApi&) {})); !agreed) {
    return tl::unexpected(agreed.error());
  }
  auto state = std::make_unique<State>();
  state->group = std::move(group);
  state->api = *api;
  return std::unique_ptr<NcclHeap>(new NcclHeap(std::move(state)));
}

Result<void> NcclHeap::reserve(std::int64_t bytes, const Result<void>& so_far) {
  const DeviceEntry entry(state_->group.device);
  state_->clear();
  Result<void> reserved = state_->reserve(bytes, so_far);
  if (!reserved) {
    state_->clear();
  }
  return reserved;
}

void NcclHeap::release() {
  const DeviceEntry entry(state_->group.device);
  state_->clear();
}

std::span<std::byte* const> NcclHeap::bases() const {
  return state_->bases;
}

std::int64_t NcclHeap::taken_bytes() const {
  return state_->taken_bytes;
}

}  // namespace eplb::gpu
