#include "eplb/gpu/transport/copy_batch.hpp"

namespace eplb::gpu {

cudaError_t CopyBatch::enqueue(std::span<const CopyPiece> pieces, cudaStream_t stream) {
  if (pieces.empty()) {
    return cudaSuccess;
  }
  destinations_.clear();
  sources_.clear();
  sizes_.clear();
  for (const CopyPiece& piece : pieces) {
    destinations_.push_back(piece.destination);
    sources_.push_back(piece.source);
    sizes_.push_back(static_cast<std::size_t>(piece.bytes));
  }
  cudaMemcpyAttributes attributes{};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  attributes.flags = cudaMemcpyFlagPreferOverlapWithCompute;
  std::size_t first = 0;
  return cudaMemcpyBatchAsync(destinations_.data(), sources_.data(), sizes_.data(), sizes_.size(),
                              &attributes, &first, 1, stream);
}

}  // namespace eplb::gpu
