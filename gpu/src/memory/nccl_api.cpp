#include "eplb/gpu/memory/nccl_api.hpp"

#include <dlfcn.h>

namespace eplb::gpu {
namespace {

std::string version_text(int code) {
  return std::to_string(code / 10000) + "." + std::to_string(code / 100 % 100) + "." +
         std::to_string(code % 100);
}

/// Looks functions up one by one and remembers the first that is missing.
class Lookup {
 public:
  explicit Lookup(void* library) : library_(library) {}

  template <typename Function>
  Lookup& find(const char* name, Function& function) {
    void* found = dlsym(library_, name);
    function = reinterpret_cast<Function>(found);
    if (found == nullptr && missing_.empty()) {
      missing_ = name;
    }
    return *this;
  }

  [[nodiscard]] const std::string& missing() const { return missing_; }

 private:
  void* library_;
  std::string missing_;
};

}  // namespace

Result<NcclApi> NcclApi::load(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc keeps its message a thread.
    const char* reason = dlerror();
    return fail(ErrorCode::kUnsupported,
                std::string("NCCL is asked for and not to be had: ") + (reason ? reason : path));
  }
  NcclApi api;
  Lookup lookup(library);
  lookup.find("ncclGetVersion", api.get_version)
      .find("ncclGetErrorString", api.get_error_string)
      .find("ncclGetLastError", api.get_last_error)
      .find("ncclGetUniqueId", api.get_unique_id)
      .find("ncclCommInitRankConfig", api.comm_init_rank_config)
      .find("ncclCommAbort", api.comm_abort)
      .find("ncclCommGetAsyncError", api.comm_get_async_error)
      .find("ncclCommWindowRegister", api.comm_window_register)
      .find("ncclCommWindowDeregister", api.comm_window_deregister)
      .find("ncclTeamLsa", api.team_lsa)
      .find("ncclMemAlloc", api.mem_alloc)
      .find("ncclMemFree", api.mem_free)
      .find("ncclGroupStart", api.group_start)
      .find("ncclGroupEnd", api.group_end)
      .find("ncclSend", api.send)
      .find("ncclRecv", api.recv);
  int version = 0;
  if (api.get_version == nullptr || api.get_version(&version) != ncclSuccess ||
      version != NCCL_VERSION_CODE) {
    return fail(ErrorCode::kUnsupported, path + " is NCCL " + version_text(version) +
                                             ", and exactly " + version_text(NCCL_VERSION_CODE) +
                                             " is needed");
  }
  if (!lookup.missing().empty()) {
    return fail(ErrorCode::kUnsupported, path + " has no " + lookup.missing());
  }
  return api;
}

std::string NcclApi::described(const char* call, ncclResult_t code) const {
  const char* words = get_last_error(nullptr);
  return std::string(call) + ": " + get_error_string(code) +
         (words != nullptr && *words != '\0' ? std::string(" (") + words + ")" : "");
}

}  // namespace eplb::gpu
