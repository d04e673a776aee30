#pragma once

#include <cuda_runtime_api.h>

#include <span>

#include "eplb/gpu/memory/rank_weights.hpp"

namespace eplb::gpu {

/// Copies all pieces within the device, by kernels that take up to kGatheredPieces each. Pieces
/// must not overlap; any alignment, 16 bytes at both ends being the fast one.
[[nodiscard]] cudaError_t gather(std::span<const CopyPiece> pieces, cudaStream_t stream);

inline constexpr std::size_t kGatheredPieces = 120;

}  // namespace eplb::gpu
