#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "eplb/core/ids.hpp"
#include "eplb/core/load.hpp"
#include "eplb/core/shape.hpp"
#include "eplb/gpu/buffer.hpp"
#include "eplb/gpu/layer_mapping.hpp"
#include "eplb/gpu/stream.hpp"

namespace eplb::gpu::test {

/// Where a forward's tokens have gone.
struct TokenDeal {
  LoadMatrix experts;  ///< [layers, slots]: whose weights a token expects there; -1 where none is.
  std::vector<std::string> faults;  ///< Tokens that went nowhere, or two experts to one slot.
};

/// A rank's forward as far as the balancer is concerned: the device maps and counts its tokens, one
/// pick each.
class TokenForward {
 public:
  /// `stream` outlives it.
  TokenForward(const Shape& shape, cudaStream_t stream) : shape_(shape), stream_(stream) {}

  /// `tokens` [layers, experts]; `mapping_of` says how each layer is mapped. Waits for the device,
  /// and throws CudaError if it fails or takes longer than kDeviceWaitMax.
  [[nodiscard]] TokenDeal run(const LoadMatrix& tokens,
                              const std::function<LayerMapping(LayerId)>& mapping_of);

 private:
  void make_room(const LoadMatrix& tokens);
  void read_back(std::int32_t layer, std::size_t token_count, TokenDeal& deal) const;

  [[nodiscard]] std::size_t first_of(std::int32_t layer) const {
    return static_cast<std::size_t>(layer) * room_;
  }

  Shape shape_;
  cudaStream_t stream_;
  Event end_;
  std::size_t room_ = 0;  ///< For tokens of a layer.
  // [layers, room]; the device reads and writes them where they are.
  std::optional<PinnedBuffer<std::int64_t>> experts_;
  std::optional<PinnedBuffer<std::int64_t>> slots_;
};

}  // namespace eplb::gpu::test
