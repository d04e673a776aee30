#include "eplb/gpu/error.hpp"
#include "staging_yardsticks.hpp"

namespace eplb::gpu::bench {
namespace {

constexpr unsigned kBlockSize = 256;

__global__ void mask_kernel(const std::int64_t* ids, const std::uint8_t* is_padding,
                            std::int64_t* masked, std::uint32_t id_count, std::uint32_t top_k) {
  const std::uint32_t pick = blockIdx.x * kBlockSize + threadIdx.x;
  if (pick < id_count) {
    masked[pick] = is_padding[pick / top_k] != 0 ? -1 : ids[pick];
  }
}

}  // namespace

void mask_ids(const std::int64_t* ids, const std::uint8_t* is_padding, std::int64_t* masked,
              std::int32_t row_count, std::int32_t top_k, cudaStream_t stream) {
  const auto id_count = static_cast<std::uint32_t>(row_count) * static_cast<std::uint32_t>(top_k);
  mask_kernel<<<(id_count + kBlockSize - 1) / kBlockSize, kBlockSize, 0, stream>>>(
      ids, is_padding, masked, id_count, static_cast<std::uint32_t>(top_k));
  EPLB_CUDA(cudaGetLastError());
}

}  // namespace eplb::gpu::bench
