#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "eplb/core/options.hpp"

namespace eplb {

/// The EP group that a balancer serves, and the engine around it.
struct EplbGroup {
  ModelOptions model = {};       ///< The target.
  std::int32_t draft_count = 0;  ///< Models that speculate for it in the same group.
  ParallelOptions parallel = {};
  EngineOptions engine = {};
  std::int32_t domain_count = 1;  ///< NVLink domains that its ranks lie in.
};

/// The word of a configuration for it.
[[nodiscard]] constexpr std::string_view to_string(Communicator communicator) {
  switch (communicator) {
    case Communicator::kAuto:
      return "auto";
    case Communicator::kSymmMem:
      return "symm_mem";
    case Communicator::kNixl:
      return "nixl";
    case Communicator::kTorchNccl:
      return "torch_nccl";
    case Communicator::kPynccl:
      return "pynccl";
    case Communicator::kTorchGloo:
      return "torch_gloo";
  }
  return {};
}

/// Whether its rows are moved by NCCL's kernels.
[[nodiscard]] constexpr bool is_nccl(Communicator communicator) {
  return communicator == Communicator::kTorchNccl || communicator == Communicator::kPynccl;
}

/// What of vLLM launches cooperative kernels, which need all their CTAs resident at once.
inline constexpr std::string_view kMegaMoe = "deep_gemm_mega_moe";           ///< A moe_backend.
inline constexpr std::string_view kDeepEpLowLatency = "deepep_low_latency";  ///< An all2all.

/// The user's own NCCL_MAX_CTAS; none if it is not set, or is nothing that NCCL would obey.
[[nodiscard]] std::optional<std::int32_t> own_nccl_max_ctas(const EngineOptions& engine);

/// Whether the group is to grow or shrink while it serves.
[[nodiscard]] inline bool is_elastic(const ParallelOptions& parallel) {
  return !parallel.scale.empty();
}

/// The communicator that moves the weights, never kAuto. kAuto is NIXL where it is installed, else
/// symmetric memory within one NVLink domain, else gloo; an elastic group has no symmetric memory,
/// and takes NCCL instead where it holds while weights move. An elastic group's own communicator is
/// outside torch, so torch_nccl becomes pynccl there. After vLLM's choice, which knows no symmetric
/// memory (eplb-semantics 5.4 and 6.1).
[[nodiscard]] Communicator resolve_communicator(const EplbOptions& options, const EplbGroup& group);

/// What NCCL_MAX_CTAS has to be for the balancer's own communicator; none if it need not be capped.
///
/// NCCL's kernels hold SMs while they wait for their peers. A cooperative kernel, as of DeepEP's
/// low-latency mode and of MegaMoE, needs all SMs at once and waits for its peers too. If one rank
/// starts the one first and another rank the other, neither ends. Few CTAs leave room for both.
/// MegaMoE is capped in sync mode too. A positive number that the user has set is kept; NCCL would
/// ignore anything else. The conditions are vLLM's (eplb-semantics 5.7).
[[nodiscard]] std::optional<std::int32_t> nccl_cta_cap(const EplbOptions& options,
                                                       const EplbGroup& group);

}  // namespace eplb
