#include <algorithm>
#include <cstdint>

#include "eplb/gpu/kernel_resources.hpp"
#include "gather_kernel.hpp"

namespace eplb::gpu {
namespace {

constexpr int kThreads = 512;
constexpr std::int64_t kChunkBytes = 64 * 1024;

struct DevicePiece {
  std::byte* destination;
  const std::byte* source;
  std::int64_t bytes;
};

/// A launch's pieces; chunks are counted through all of them. It must stay below 4 KB, which every
/// driver takes as parameters.
struct GatherArguments {
  DevicePiece pieces[kGatheredPieces];
  std::int32_t first_chunks[kGatheredPieces + 1];
  std::int32_t piece_count;
};

static_assert(sizeof(GatherArguments) <= 4096);

__device__ std::int32_t piece_of(const GatherArguments& arguments, std::int32_t chunk) {
  std::int32_t low = 0;
  std::int32_t high = arguments.piece_count;
  while (high - low > 1) {
    const std::int32_t middle = (low + high) / 2;
    if (arguments.first_chunks[middle] <= chunk) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

__device__ void copy_chunk(std::byte* destination, const std::byte* source, std::int64_t bytes) {
  const auto addresses =
      reinterpret_cast<std::uintptr_t>(destination) | reinterpret_cast<std::uintptr_t>(source);
  std::int64_t copied = 0;
  if (addresses % sizeof(uint4) == 0) {
    constexpr std::int64_t kWords = kChunkBytes / static_cast<std::int64_t>(sizeof(uint4));
    constexpr int kLoads = static_cast<int>(kWords / kThreads);
    const auto* from = reinterpret_cast<const uint4*>(source);
    auto* to = reinterpret_cast<uint4*>(destination);
    if (bytes == kChunkBytes) {
      uint4 words[kLoads];
#pragma unroll
      for (int load = 0; load < kLoads; ++load) {
        words[load] = __ldcs(from + load * kThreads + threadIdx.x);
      }
#pragma unroll
      for (int load = 0; load < kLoads; ++load) {
        __stcs(to + load * kThreads + threadIdx.x, words[load]);
      }
      return;
    }
    const std::int64_t word_count = bytes / static_cast<std::int64_t>(sizeof(uint4));
    for (std::int64_t word = threadIdx.x; word < word_count; word += kThreads) {
      to[word] = from[word];
    }
    copied = word_count * static_cast<std::int64_t>(sizeof(uint4));
  }
  for (std::int64_t at = copied + threadIdx.x; at < bytes; at += kThreads) {
    destination[at] = source[at];
  }
}

__global__ void __launch_bounds__(kThreads)
    gather_kernel(const __grid_constant__ GatherArguments arguments) {
  const std::int32_t chunk_count = arguments.first_chunks[arguments.piece_count];
  for (std::int32_t chunk = static_cast<std::int32_t>(blockIdx.x); chunk < chunk_count;
       chunk += static_cast<std::int32_t>(gridDim.x)) {
    const std::int32_t index = piece_of(arguments, chunk);
    const DevicePiece& piece = arguments.pieces[index];
    const std::int64_t begin = (chunk - arguments.first_chunks[index]) * kChunkBytes;
    const std::int64_t left = piece.bytes - begin;
    copy_chunk(piece.destination + begin, piece.source + begin,
               left < kChunkBytes ? left : kChunkBytes);
  }
}

cudaError_t launch(std::span<const CopyPiece> pieces, cudaStream_t stream) {
  GatherArguments arguments{};
  std::int32_t chunk_count = 0;
  for (const CopyPiece& piece : pieces) {
    arguments.pieces[arguments.piece_count] = {piece.destination, piece.source, piece.bytes};
    arguments.first_chunks[arguments.piece_count] = chunk_count;
    chunk_count += static_cast<std::int32_t>((piece.bytes + kChunkBytes - 1) / kChunkBytes);
    ++arguments.piece_count;
  }
  arguments.first_chunks[arguments.piece_count] = chunk_count;
  constexpr int kBlocksPerMultiprocessor = 4;
  const int block_count = std::min(chunk_count, multiprocessor_count() * kBlocksPerMultiprocessor);
  if (block_count == 0) {
    return cudaSuccess;
  }
  gather_kernel<<<static_cast<unsigned>(block_count), kThreads, 0, stream>>>(arguments);
  return cudaGetLastError();
}

}  // namespace

cudaError_t gather(std::span<const CopyPiece> pieces, cudaStream_t stream) {
  while (!pieces.empty()) {
    const std::size_t count = std::min(pieces.size(), kGatheredPieces);
    if (const cudaError_t status = launch(pieces.first(count), stream); status != cudaSuccess) {
      return status;
    }
    pieces = pieces.subspan(count);
  }
  return cudaSuccess;
}

}  // namespace eplb::gpu
