#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "eplb/core/result.hpp"
#include "eplb/group/descriptor.hpp"

namespace eplb::group {

/// Memory that processes of a host and a user map together. Anonymous: it goes with the last of
/// them, however that ends. Zeroed. `noun` names it in errors, as in "board".
class SharedMemory {
 public:
  SharedMemory() = default;

  /// `name` is to read, in /proc. kResourceExhausted.
  [[nodiscard]] static Result<SharedMemory> create(std::string_view noun, const std::string& name,
                                                   std::int64_t bytes);

  /// What another process has created, by its number for it. kPeerFailed if it is not there,
  /// kInvalidConfig if it is of another size, kResourceExhausted if it cannot be mapped.
  [[nodiscard]] static Result<SharedMemory> open(std::string_view noun, std::int64_t owner_pid,
                                                 int owner_descriptor, std::int64_t bytes);

  ~SharedMemory() { unmap(); }

  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }

  /// What open() of another process needs.
  [[nodiscard]] int descriptor() const { return memory_.get(); }

 private:
  SharedMemory(Descriptor memory, std::span<std::byte> bytes);

  [[nodiscard]] static Result<SharedMemory> map(std::string_view noun, Descriptor memory,
                                                std::int64_t bytes);
  void unmap();

  Descriptor memory_;
  std::span<std::byte> bytes_;
};

}  // namespace eplb::group
