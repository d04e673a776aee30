#pragma once

#include <cstdint>
#include <vector>

#include "eplb/core/result.hpp"

namespace eplb::env {

/// What a rank reserves. Equal on all ranks of a group.
struct MemoryLayout {
  std::int32_t slots_per_rank = 0;      ///< Rows of each layer's weights.
  std::int32_t landing_rows = 0;        ///< Rows of the landing pool; each as wide as the widest.
  std::vector<std::int64_t> row_bytes;  ///< One a layer.
};

/// The regions that copies read and write.
class Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  Memory(Memory&&) = delete;
  Memory& operator=(Memory&&) = delete;
  virtual ~Memory() = default;

  /// Reserves all regions, anew after a release. Weights that the rank holds already, as when its
  /// group changes its size, stay; after a release they are lost. kResourceExhausted or
  /// kUnsupported if this rank cannot; then nothing is reserved. Peers may be touched only once all
  /// ranks are known to have reserved.
  [[nodiscard]] virtual Result<void> reserve(const MemoryLayout& layout) = 0;

  /// Gives all regions back, contents lost. Nothing may be reading or writing them.
  virtual void release() = 0;
};

}  // namespace eplb::env
