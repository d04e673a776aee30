#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "eplb/core/result.hpp"
#include "eplb/group/membership.hpp"

namespace eplb::group {

/// Memory that all processes of a host's group map: anonymous like a board, so nothing can be left
/// behind. Zeroed.
class SharedBytes {
 public:
  /// All processes call it together. kUnsupported if the group spans hosts, kResourceExhausted if
  /// there is no such memory; then no process has it.
  [[nodiscard]] static Result<std::unique_ptr<SharedBytes>> map(Membership& membership,
                                                                std::int64_t bytes,
                                                                std::int64_t deadline_ms);

  ~SharedBytes();
  SharedBytes(const SharedBytes&) = delete;
  SharedBytes& operator=(const SharedBytes&) = delete;
  SharedBytes(SharedBytes&&) = delete;
  SharedBytes& operator=(SharedBytes&&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }

 private:
  explicit SharedBytes(std::span<std::byte> bytes) : bytes_(bytes) {}

  std::span<std::byte> bytes_;
};

}  // namespace eplb::group
