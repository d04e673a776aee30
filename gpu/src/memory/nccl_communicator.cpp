#include "eplb/gpu/memory/nccl_communicator.hpp"

#include <chrono>
#include <cstring>
#include <thread>

namespace eplb::gpu {

NcclCommunicator::~NcclCommunicator() {
  if (communicator_ != nullptr) {
    static_cast<void>(api_.comm_abort(communicator_));
  }
}

Result<NcclCommunicator> NcclCommunicator::open(const NcclApi& api, const PeerGroup& group,
                                                const ncclUniqueId& id,
                                                const NcclCommunicatorOptions& options,
                                                const std::atomic<bool>* stop) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  if (options.max_ctas > 0) {
    config.minCTAs = 1;
    config.maxCTAs = options.max_ctas;
  }
  NcclCommunicator opened;
  opened.api_ = api;
  opened.limit_ns_ = options.limit_ns;
  const ncclResult_t code = api.comm_init_rank_config(&opened.communicator_, group.rank_count, id,
                                                      group.rank.value, &config);
  if (Result<void> settled = opened.settle("ncclCommInitRankConfig", code, stop); !settled) {
    return tl::unexpected(settled.error());
  }
  return opened;
}

ncclResult_t NcclCommunicator::state() const {
  ncclResult_t state = ncclSuccess;
  const ncclResult_t code = api_.comm_get_async_error(communicator_, &state);
  return code == ncclSuccess ? state : code;
}

Result<void> NcclCommunicator::settle(const char* call, ncclResult_t code,
                                      const std::atomic<bool>* stop) const {
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(limit_ns_);
  // A call that returns ncclSuccess may still be at work: ncclCommWindowRegister of 2.28 is.
  code = code == ncclSuccess ? state() : code;
  while (code == ncclInProgress) {
    if (std::chrono::steady_clock::now() > end) {
      return fail(ErrorCode::kTimeout, std::string(call) + ": not done within " +
                                           std::to_string(limit_ns_ / 1'000'000) + " ms");
    }
    if (stop != nullptr && stop->load()) {
      return fail(ErrorCode::kAborted, std::string(call) + ": given up");
    }
    constexpr std::chrono::microseconds kPause{200};
    std::this_thread::sleep_for(kPause);
    code = state();
  }
  if (code != ncclSuccess) {
    return fail(ErrorCode::kDevice, api_.described(call, code));
  }
  return {};
}

Result<std::vector<ncclUniqueId>> shared_ids(const NcclApi& api, const PeerGroup& group,
                                             std::size_t count) {
  std::vector<ncclUniqueId> ids(count);
  Result<std::vector<std::byte>> mine{std::vector<std::byte>{}};
  if (group.rank.value == 0) {
    ncclResult_t code = ncclSuccess;
    for (std::size_t index = 0; index < count && code == ncclSuccess; ++index) {
      code = api.get_unique_id(&ids[index]);
    }
    if (code == ncclSuccess) {
      mine->resize(count * sizeof(ncclUniqueId));
      std::memcpy(mine->data(), ids.data(), mine->size());
    } else {
      mine = fail(ErrorCode::kUnsupported, api.described("ncclGetUniqueId", code));
    }
  }
  const Result<std::vector<std::vector<std::byte>>> all = exchange_bytes(group, mine);
  if (!all) {
    return tl::unexpected(all.error());
  }
  if (all->front().size() != count * sizeof(ncclUniqueId)) {
    return fail(ErrorCode::kPeerFailed, "rank 0 runs another version");
  }
  std::memcpy(ids.data(), all->front().data(), all->front().size());
  return ids;
}

}  // namespace eplb::gpu
