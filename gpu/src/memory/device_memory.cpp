#include "eplb/gpu/memory/device_memory.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "eplb/gpu/memory/device_entry.hpp"

namespace eplb::gpu {
namespace {

std::vector<std::int64_t> sizes_of(const std::vector<WeightTensor>& tensors) {
  std::vector<std::int64_t> sizes;
  sizes.reserve(tensors.size());
  for (const WeightTensor& tensor : tensors) {
    sizes.push_back(tensor.row_bytes);
  }
  return sizes;
}

std::vector<std::vector<std::int64_t>> sizes_of(const EngineWeights& weights) {
  std::vector<std::vector<std::int64_t>> sizes;
  sizes.reserve(weights.layers.size());
  for (const std::vector<WeightTensor>& tensors : weights.layers) {
    sizes.push_back(sizes_of(tensors));
  }
  return sizes;
}

Result<void> check_layout(const env::MemoryLayout& layout,
                          const std::vector<std::vector<std::int64_t>>& tensor_bytes) {
  if (layout.slots_per_rank <= 0 || layout.landing_rows <= 0) {
    return fail(ErrorCode::kInvalidArgument,
                std::to_string(layout.slots_per_rank) + " slots a rank and " +
                    std::to_string(layout.landing_rows) + " landing rows: at least 1 of each");
  }
  if (layout.row_bytes.size() != tensor_bytes.size()) {
    return fail(ErrorCode::kInvalidArgument,
                "the layout has " + std::to_string(layout.row_bytes.size()) +
                    " layers and the weights have " + std::to_string(tensor_bytes.size()));
  }
  for (std::size_t layer = 0; layer < tensor_bytes.size(); ++layer) {
    const std::int64_t bytes =
        std::accumulate(tensor_bytes[layer].begin(), tensor_bytes[layer].end(), std::int64_t{0});
    if (bytes != layout.row_bytes[layer]) {
      return fail(ErrorCode::kInvalidArgument,
                  "an expert of layer " + std::to_string(layer) + " has " +
                      std::to_string(layout.row_bytes[layer]) +
                      " bytes by the layout and its tensors have " + std::to_string(bytes));
    }
  }
  return {};
}

}  // namespace

DeviceMemory::DeviceMemory(SymmetricHeap& heap, RankId rank, int device, OwnWeights weights)
    : heap_(heap), rank_(rank), device_(device), own_(std::move(weights)) {}

DeviceMemory::DeviceMemory(SymmetricHeap& heap, RankId rank, int device, EngineWeights weights)
    : heap_(heap),
      rank_(rank),
      device_(device),
      own_{.tensor_bytes = sizes_of(weights)},
      engine_(std::move(weights)) {}

std::int64_t DeviceMemory::weights_bytes(std::int32_t slot_count) const {
  std::int64_t bytes = 0;
  for (const std::vector<std::int64_t>& tensors : own_.tensor_bytes) {
    bytes += row_width(tensors) * slot_count;
  }
  return bytes;
}

Result<void> DeviceMemory::allocate_weights(const env::MemoryLayout& layout) {
  if (!engine_.layers.empty() || (!buffers_.empty() && slot_count_ == layout.slots_per_rank)) {
    return {};
  }
  buffers_.clear();
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  EPLB_CUDA(cudaMemGetInfo(&free_bytes, &total_bytes));
  const std::int64_t asked_bytes = weights_bytes(layout.slots_per_rank);
  const auto refused = [&] {
    return fail(ErrorCode::kResourceExhausted, "the weights need " + std::to_string(asked_bytes) +
                                                   " bytes of the device, and " +
                                                   std::to_string(free_bytes) + " are free");
  };
  if (std::cmp_greater(asked_bytes, free_bytes)) {
    return refused();
  }
  buffers_.reserve(own_.tensor_bytes.size());
  for (const std::vector<std::int64_t>& tensors : own_.tensor_bytes) {
    try {
      buffers_.emplace_back(static_cast<std::size_t>(row_width(tensors) * layout.slots_per_rank));
    } catch (const CudaError& error) {
      buffers_.clear();
      if (error.code() != cudaErrorMemoryAllocation) {
        throw;
      }
      static_cast<void>(cudaGetLastError());
      return refused();
    }
  }
  slot_count_ = layout.slots_per_rank;
  return {};
}

Result<std::vector<LayerWeights>> DeviceMemory::layers_of() const {
  std::vector<LayerWeights> layers;
  layers.reserve(own_.tensor_bytes.size());
  for (std::size_t layer = 0; layer < own_.tensor_bytes.size(); ++layer) {
    Result<LayerWeights> weights =
        engine_.layers.empty()
            ? LayerWeights::of_rows(buffers_[layer].data(), own_.tensor_bytes[layer])
            : LayerWeights::of_tensors(engine_.layers[layer]);
    if (!weights) {
      return tl::unexpected(weights.error());
    }
    layers.push_back(std::move(*weights));
  }
  return layers;
}

Result<void> DeviceMemory::reserve(const env::MemoryLayout& layout) {
  const DeviceEntry entry(device_);
  rows_.reset();
  heap_.release();
  Result<std::vector<LayerWeights>> layers = check_layout(layout, own_.tensor_bytes)
                                                 .and_then([&] { return allocate_weights(layout); })
                                                 .and_then([&] { return layers_of(); });
  std::int64_t stride_bytes = 0;
  for (const std::vector<std::int64_t>& tensors : own_.tensor_bytes) {
    stride_bytes = std::max(stride_bytes, row_width(tensors));
  }
  Result<void> reserved = heap_.reserve(stride_bytes * layout.landing_rows,
                                        layers.map([](const std::vector<LayerWeights>&) {}));
  if (!reserved) {
    release();
    return reserved;
  }
  const std::span<std::byte* const> bases = heap_.bases();
  rows_ = std::make_unique<RankWeights>(rank_, layout.slots_per_rank, std::move(*layers),
                                        LandingPools{.bases = {bases.begin(), bases.end()},
                                                     .row_stride_bytes = stride_bytes,
                                                     .row_count = layout.landing_rows});
  return {};
}

void DeviceMemory::release() {
  const DeviceEntry entry(device_);
  rows_.reset();
  heap_.release();
  buffers_.clear();
  slot_count_ = 0;
}

const RankWeights& DeviceMemory::rows() const {
  if (rows_ == nullptr) {
    throw std::logic_error("no regions are reserved");
  }
  return *rows_;
}

std::int64_t DeviceMemory::taken_bytes() const {
  std::int64_t bytes = heap_.taken_bytes();
  for (const DeviceBuffer<std::byte>& buffer : buffers_) {
    bytes += static_cast<std::int64_t>(buffer.bytes());
  }
  return bytes;
}

}  // namespace eplb::gpu
