#include "word_kernel.hpp"

namespace eplb::gpu {
namespace {

__global__ void write_word_kernel(volatile std::uint64_t* word, std::uint64_t value) {
  __threadfence_system();
  *word = value;
}

}  // namespace

cudaError_t write_word_by_kernel(std::uint64_t* word, std::uint64_t value, cudaStream_t stream) {
  write_word_kernel<<<1, 1, 0, stream>>>(word, value);
  return cudaGetLastError();
}

}  // namespace eplb::gpu
