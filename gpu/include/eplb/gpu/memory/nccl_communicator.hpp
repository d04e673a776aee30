#pragma once

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "eplb/gpu/memory/exchange.hpp"
#include "eplb/gpu/memory/nccl_api.hpp"

namespace eplb::gpu {

struct NcclCommunicatorOptions {
  int max_ctas = 0;  ///< Thread blocks of its kernels; 0: as NCCL likes.
  std::int64_t limit_ns = 120'000'000'000;
};

/// A communicator of our own, that never blocks in a call. Where one has to wait, at set-up, the
/// wait has a limit.
class NcclCommunicator {
 public:
  NcclCommunicator() = default;

  /// All ranks call it, each on its device; `stop`, if given and set, ends the wait.
  [[nodiscard]] static Result<NcclCommunicator> open(const NcclApi& api, const PeerGroup& group,
                                                     const ncclUniqueId& id,
                                                     const NcclCommunicatorOptions& options,
                                                     const std::atomic<bool>* stop = nullptr);

  NcclCommunicator(NcclCommunicator&& other) noexcept { swap(other); }

  NcclCommunicator& operator=(NcclCommunicator&& other) noexcept {
    swap(other);
    return *this;
  }

  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  /// Ends whatever it still does; waits for no peer.
  ~NcclCommunicator();

  [[nodiscard]] ncclComm_t get() const { return communicator_; }

  /// What became of the calls so far: ncclInProgress while NCCL is at it.
  [[nodiscard]] ncclResult_t state() const;

  /// Waits until `code`, which `call` returned, has become an outcome.
  [[nodiscard]] Result<void> settle(const char* call, ncclResult_t code,
                                    const std::atomic<bool>* stop = nullptr) const;

 private:
  void swap(NcclCommunicator& other) noexcept {
    std::swap(api_, other.api_);
    std::swap(communicator_, other.communicator_);
    std::swap(limit_ns_, other.limit_ns_);
  }

  NcclApi api_;
  ncclComm_t communicator_ = nullptr;
  std::int64_t limit_ns_ = 0;
};

/// Ids for `count` communicators, drawn by rank 0 and told to all.
[[nodiscard]] Result<std::vector<ncclUniqueId>> shared_ids(const NcclApi& api,
                                                           const PeerGroup& group,
                                                           std::size_t count);

}  // namespace eplb::gpu
