#pragma once

#include <nccl.h>
#include <nccl_device/core.h>

#include <string>

#include "eplb/core/result.hpp"

namespace eplb::gpu {

/// NCCL's functions, found at run time, so that a program needs NCCL only where it uses it. The
/// library stays loaded: it has threads of its own.
struct NcclApi {
  decltype(&ncclGetVersion) get_version = nullptr;
  decltype(&ncclGetErrorString) get_error_string = nullptr;
  decltype(&ncclGetLastError) get_last_error = nullptr;
  decltype(&ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&ncclCommInitRankConfig) comm_init_rank_config = nullptr;
  decltype(&ncclCommAbort) comm_abort = nullptr;
  decltype(&ncclCommGetAsyncError) comm_get_async_error = nullptr;
  decltype(&ncclCommWindowRegister) comm_window_register = nullptr;
  decltype(&ncclCommWindowDeregister) comm_window_deregister = nullptr;
  ncclTeam_t (*team_lsa)(ncclComm_t) = nullptr;
  decltype(&ncclMemAlloc) mem_alloc = nullptr;
  decltype(&ncclMemFree) mem_free = nullptr;
  decltype(&ncclGroupStart) group_start = nullptr;
  decltype(&ncclGroupEnd) group_end = nullptr;
  decltype(&ncclSend) send = nullptr;
  decltype(&ncclRecv) recv = nullptr;

  /// kUnsupported if there is no library at `path`, or it is of another version than the headers
  /// that this was compiled with: structures that both write differ from version to version.
  [[nodiscard]] static Result<NcclApi> load(const std::string& path);

  /// "call: error (last words of NCCL)".
  [[nodiscard]] std::string described(const char* call, ncclResult_t code) const;
};

}  // namespace eplb::gpu
