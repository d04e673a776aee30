#include "local_heap.hpp"

#include <string>
#include <utility>

#include "eplb/gpu/memory/device_entry.hpp"
#include "eplb/gpu/memory/exchange.hpp"

namespace eplb::gpu {

LocalHeap::LocalHeap(PeerGroup group) : group_(std::move(group)) {}

Result<void> LocalHeap::reserve(std::int64_t bytes, const Result<void>& so_far) {
  const DeviceEntry entry(group_.device);
  release();
  Result<void> agreed = agree(group_, so_far ? allocate(bytes) : so_far);
  if (!agreed) {
    release();
  }
  return agreed;
}

Result<void> LocalHeap::allocate(std::int64_t bytes) {
  try {
    memory_.emplace(static_cast<std::size_t>(bytes));
  } catch (const CudaError& error) {
    if (error.code() != cudaErrorMemoryAllocation) {
      throw;
    }
    static_cast<void>(cudaGetLastError());
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    static_cast<void>(cudaMemGetInfo(&free_bytes, &total_bytes));
    return fail(ErrorCode::kResourceExhausted, "the landing pool needs " + std::to_string(bytes) +
                                                   " bytes of the device, and " +
                                                   std::to_string(free_bytes) + " are free");
  }
  bases_.assign(static_cast<std::size_t>(group_.rank_count), nullptr);
  bases_[group_.rank.index()] = memory_->data();
  return {};
}

void LocalHeap::release() {
  const DeviceEntry entry(group_.device);
  bases_.clear();
  memory_.reset();
}

std::int64_t LocalHeap::taken_bytes() const {
  return memory_ ? static_cast<std::int64_t>(memory_->bytes()) : 0;
}

}  // namespace eplb::gpu
