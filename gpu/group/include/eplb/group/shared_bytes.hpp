#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "eplb/core/result.hpp"
#include "eplb/group/membership.hpp"
#include "eplb/group/shared_memory.hpp"

namespace eplb::group {

/// Memory that all processes of a host's group map: anonymous like a board, so nothing can be left
/// behind. Zeroed.
class SharedBytes {
 public:
  /// All processes call it together. kUnsupported if the group spans hosts, else as
  /// SharedMemory; kPeerFailed if another process has it not. Then no process has it.
  [[nodiscard]] static Result<std::unique_ptr<SharedBytes>> map(Membership& membership,
                                                                std::int64_t bytes,
                                                                std::int64_t deadline_ms);

  [[nodiscard]] std::span<std::byte> bytes() const { return memory_.bytes(); }

 private:
  explicit SharedBytes(SharedMemory memory) : memory_(std::move(memory)) {}

  SharedMemory memory_;
};

}  // namespace eplb::group
