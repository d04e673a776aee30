#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>
#include <vector>

#include "eplb/gpu/memory/rank_weights.hpp"

namespace eplb::gpu {

/// The arrays that cudaMemcpyBatchAsync wants, kept so that a batch allocates nothing once they
/// have grown.
class CopyBatch {
 public:
  /// Enqueues all pieces as one batch, by copy engines where the driver can. They run in no order
  /// among themselves. Not in a capture, and not on the legacy default stream.
  [[nodiscard]] cudaError_t enqueue(std::span<const CopyPiece> pieces, cudaStream_t stream);

 private:
  std::vector<void*> destinations_;
  std::vector<const void*> sources_;
  std::vector<std::size_t> sizes_;
};

}  // namespace eplb::gpu
