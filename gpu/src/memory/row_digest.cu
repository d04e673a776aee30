#include <algorithm>
#include <stdexcept>
#include <string>

#include "eplb/gpu/error.hpp"
#include "eplb/gpu/kernel_resources.hpp"
#include "eplb/gpu/memory/expert_content.hpp"
#include "eplb/gpu/memory/row_digest.hpp"

namespace eplb::gpu {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kWordBytes = 8;

struct DeviceTensors {
  WeightTensor tensors[kTensorsMax];
  std::int32_t count;
};

/// Words as they stand in memory, wherever a row begins.
struct Stored {
  DeviceTensors tensors;

  __device__ std::uint64_t operator()(std::int32_t tensor, std::int32_t row,
                                      std::int64_t index) const {
    const WeightTensor& from = tensors.tensors[tensor];
    const std::byte* begin = from.base + row * from.row_stride_bytes + index * kWordBytes;
    const std::int64_t left = from.row_bytes - index * kWordBytes;
    if (left >= kWordBytes && reinterpret_cast<std::uintptr_t>(begin) % kWordBytes == 0) {
      return *reinterpret_cast<const std::uint64_t*>(begin);
    }
    std::uint64_t word = 0;
    for (std::int64_t byte = 0; byte < left && byte < kWordBytes; ++byte) {
      word |= static_cast<std::uint64_t>(begin[byte]) << (8 * byte);
    }
    return word;
  }
};

/// Words as they must be if row r holds experts[r - first_row] of a layer.
struct Expected {
  DeviceTensors tensors;
  const std::int32_t* experts;
  std::uint32_t layer;
  std::int32_t first_row;

  __device__ std::uint64_t operator()(std::int32_t tensor, std::int32_t row,
                                      std::int64_t index) const {
    const auto expert = static_cast<std::uint32_t>(experts[row - first_row]);
    const std::uint64_t word =
        content_word(content_seed({layer, expert, static_cast<std::uint32_t>(tensor)}),
                     static_cast<std::uint64_t>(index));
    const std::int64_t left = tensors.tensors[tensor].row_bytes - index * kWordBytes;
    return left >= kWordBytes ? word : word & ((std::uint64_t{1} << (8 * left)) - 1);
  }
};

template <typename Words>
__global__ void __launch_bounds__(kThreads)
    digest_kernel(const __grid_constant__ Words words,
                  const __grid_constant__ DigestOptions options, unsigned long long* digests) {
  const auto row = static_cast<std::int32_t>(blockIdx.y);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  std::uint64_t sum = 0;
  for (std::int32_t tensor = 0; tensor < words.tensors.count; ++tensor) {
    const std::int64_t row_bytes = words.tensors.tensors[tensor].row_bytes;
    const std::int64_t word_count = (row_bytes + kWordBytes - 1) / kWordBytes;
    for (std::int64_t sample = first;; sample += step) {
      const std::int64_t index = options.sample_start + sample * options.sample_stride;
      if (index >= word_count) {
        break;
      }
      sum += digest_term(words(tensor, options.first_row + row, index),
                         static_cast<std::uint64_t>(tensor), static_cast<std::uint64_t>(index));
    }
  }
  for (int lane = 16; lane > 0; lane /= 2) {
    sum += __shfl_down_sync(0xFFFFFFFFU, sum, static_cast<unsigned>(lane));
  }
  if (threadIdx.x % 32 == 0 && sum != 0) {
    atomicAdd(digests + row, static_cast<unsigned long long>(sum));
  }
}

__global__ void clear_kernel(std::uint64_t* digests, std::int32_t count) {
  const auto index = static_cast<std::int32_t>(blockIdx.x * blockDim.x + threadIdx.x);
  if (index < count) {
    digests[index] = 0;
  }
}

__global__ void __launch_bounds__(kThreads)
    fill_kernel(const __grid_constant__ DeviceTensors tensors,
                const __grid_constant__ FillOptions options) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int32_t tensor = 0; tensor < tensors.count; ++tensor) {
    const WeightTensor& to = tensors.tensors[tensor];
    std::byte* begin = to.base + options.row * to.row_stride_bytes;
    const bool is_aligned = reinterpret_cast<std::uintptr_t>(begin) % kWordBytes == 0;
    const std::uint64_t seed = content_seed({static_cast<std::uint32_t>(options.layer.value),
                                             static_cast<std::uint32_t>(options.expert.value),
                                             static_cast<std::uint32_t>(tensor)});
    for (std::int64_t index = first; index * kWordBytes < to.row_bytes; index += step) {
      const std::uint64_t word = content_word(seed, static_cast<std::uint64_t>(index));
      const std::int64_t left = to.row_bytes - index * kWordBytes;
      if (is_aligned && left >= kWordBytes) {
        *reinterpret_cast<std::uint64_t*>(begin + index * kWordBytes) = word;
        continue;
      }
      for (std::int64_t byte = 0; byte < left && byte < kWordBytes; ++byte) {
        begin[index * kWordBytes + byte] = static_cast<std::byte>(word >> (8 * byte));
      }
    }
  }
}

DeviceTensors in_parameters(std::span<const WeightTensor> tensors) {
  if (tensors.size() > kTensorsMax) {
    throw std::invalid_argument("an expert has at most " + std::to_string(kTensorsMax) +
                                " tensors here");
  }
  DeviceTensors parameters{};
  std::copy(tensors.begin(), tensors.end(), parameters.tensors);
  parameters.count = static_cast<std::int32_t>(tensors.size());
  return parameters;
}

unsigned blocks_for(std::span<const WeightTensor> tensors, std::int32_t stride) {
  std::int64_t widest = 1;
  for (const WeightTensor& tensor : tensors) {
    widest = std::max(widest, tensor.row_bytes);
  }
  const std::int64_t words_of_block = std::int64_t{kThreads} * 16 * kWordBytes * stride;
  const std::int64_t wanted = (widest + words_of_block - 1) / words_of_block;
  return static_cast<unsigned>(
      std::min<std::int64_t>(wanted, std::int64_t{4} * multiprocessor_count()));
}

template <typename Words>
void launch(const Words& words, std::span<const WeightTensor> tensors, const DigestOptions& options,
            std::uint64_t* digests, cudaStream_t stream) {
  constexpr std::int32_t kRowsMax = 65535;
  if (options.first_row < 0 || options.row_count < 0 || options.row_count > kRowsMax ||
      options.sample_stride < 1 || options.sample_start < 0 ||
      options.sample_start >= options.sample_stride) {
    throw std::invalid_argument(
        "digests take rows from 0 on, at most 65535 at once, a sample stride of at least 1 and a "
        "start below it");
  }
  if (options.row_count == 0) {
    return;
  }
  const auto rows = static_cast<unsigned>(options.row_count);
  clear_kernel<<<(rows + kThreads - 1) / kThreads, kThreads, 0, stream>>>(digests,
                                                                          options.row_count);
  EPLB_CUDA(cudaGetLastError());
  const dim3 grid(blocks_for(tensors, options.sample_stride), rows);
  digest_kernel<<<grid, kThreads, 0, stream>>>(words, options,
                                               reinterpret_cast<unsigned long long*>(digests));
  EPLB_CUDA(cudaGetLastError());
}

}  // namespace

void digest_rows(std::span<const WeightTensor> tensors, const DigestOptions& options,
                 std::uint64_t* digests, cudaStream_t stream) {
  launch(Stored{in_parameters(tensors)}, tensors, options, digests, stream);
}

void digest_expected(std::span<const WeightTensor> tensors, LayerId layer,
                     const std::int32_t* experts, const DigestOptions& options,
                     std::uint64_t* digests, cudaStream_t stream) {
  launch(Expected{in_parameters(tensors), experts, static_cast<std::uint32_t>(layer.value),
                  options.first_row},
         tensors, options, digests, stream);
}

void fill_row(std::span<const WeightTensor> tensors, const FillOptions& options,
              cudaStream_t stream) {
  const DeviceTensors parameters = in_parameters(tensors);
  fill_kernel<<<blocks_for(tensors, 1), kThreads, 0, stream>>>(parameters, options);
  EPLB_CUDA(cudaGetLastError());
}

}  // namespace eplb::gpu
