#include "eplb/core/communicator.hpp"

#include <charconv>
#include <string>
#include <system_error>

namespace eplb {
namespace {

constexpr std::int32_t kCtaCap = 8;

bool runs_cooperative_kernels(const EplbOptions& options, const EngineOptions& engine) {
  return engine.moe_backend == kMegaMoe ||
         (engine.all2all == kDeepEpLowLatency && options.use_async);
}

}  // namespace

std::optional<std::int32_t> own_nccl_max_ctas(const EngineOptions& engine) {
  const std::string& text = engine.nccl_max_ctas;
  const char* const end = text.data() + text.size();
  std::int32_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  const bool is_number = error == std::errc() && rest == end;
  return is_number && number > 0 ? std::optional(number) : std::nullopt;
}

Communicator resolve_communicator(const EplbOptions& options, const EplbGroup& group) {
  const bool elastic = is_elastic(group.parallel);
  if (options.communicator == Communicator::kTorchNccl && elastic) {
    return Communicator::kPynccl;
  }
  if (options.communicator != Communicator::kAuto) {
    return options.communicator;
  }
  if (group.engine.nixl) {
    return Communicator::kNixl;
  }
  if (elastic) {
    return options.use_async ? Communicator::kTorchGloo : Communicator::kPynccl;
  }
  return group.domain_count == 1 ? Communicator::kSymmMem : Communicator::kTorchGloo;
}

std::optional<std::int32_t> nccl_cta_cap(const EplbOptions& options, const EplbGroup& group) {
  const ParallelOptions& parallel = group.parallel;
  const std::int32_t data_parallel =
      parallel.data_parallel == 0 ? parallel.ranks : parallel.data_parallel;
  const bool uses_nccl = is_nccl(resolve_communicator(options, group));
  const bool can_lock = options.enabled && data_parallel > 1 && uses_nccl;
  if (!can_lock || !runs_cooperative_kernels(options, group.engine)) {
    return std::nullopt;
  }
  return own_nccl_max_ctas(group.engine).value_or(kCtaCap);
}

}  // namespace eplb
