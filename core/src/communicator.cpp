#include "eplb/core/communicator.hpp"

#include <charconv>
#include <string>
#include <system_error>

namespace eplb {
namespace {

constexpr std::int32_t kCtaCap = 8;

constexpr std::string_view kDeepepLowLatency = "deepep_low_latency";
constexpr std::string_view kMegaMoe = "deep_gemm_mega_moe";

/// The whole text as a positive number, if it is one.
std::optional<std::int32_t> positive_number(const std::string& text) {
  const char* const end = text.data() + text.size();
  std::int32_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  const bool is_number = error == std::errc() && rest == end;
  return is_number && number > 0 ? std::optional(number) : std::nullopt;
}

bool runs_cooperative_kernels(const EplbOptions& options, const EngineOptions& engine) {
  return engine.moe_backend == kMegaMoe ||
         (engine.all2all == kDeepepLowLatency && options.use_async);
}

}  // namespace

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
  const Communicator communicator = resolve_communicator(options, group);
  const bool uses_nccl =
      communicator == Communicator::kTorchNccl || communicator == Communicator::kPynccl;
  const bool can_lock = options.enabled && data_parallel > 1 && uses_nccl;
  if (!can_lock || !runs_cooperative_kernels(options, group.engine)) {
    return std::nullopt;
  }
  return positive_number(group.engine.nccl_max_ctas).value_or(kCtaCap);
}

}  // namespace eplb
