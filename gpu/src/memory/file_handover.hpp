#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "eplb/core/result.hpp"
#include "eplb/gpu/memory/exchange.hpp"

namespace eplb::gpu {

/// Owns a file descriptor; -1 is none.
class FileDescriptor {
 public:
  FileDescriptor() = default;

  explicit FileDescriptor(int value) : value_(value) {}

  FileDescriptor(FileDescriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}

  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }

  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor();

  [[nodiscard]] int get() const { return value_; }

 private:
  int value_ = -1;
};

struct HandoverOptions {
  bool tries_pidfd = true;  ///< False: straight over sockets.
  std::int64_t limit_ns = 20'000'000'000;
};

/// Gives every rank of the group a descriptor of each other rank's open file. All ranks call it
/// together, all are on this host. Returns them by rank; none for ranks of this process, which know
/// the number already. `mine` must stay open until it returns.
///
/// NOTE [descriptor handover] Reading a descriptor out of its process (pidfd_getfd) takes one call
/// and no socket, but a kernel grants it only to who may trace that process, and containers often
/// refuse it. Then, on all ranks alike, descriptors are sent over datagram sockets with abstract
/// names, which leave nothing behind on disk; a number drawn by the receiver and told in the
/// exchange keeps anyone else's message out.
[[nodiscard]] Result<std::vector<FileDescriptor>> hand_over_files(
    const PeerGroup& group, int mine, const HandoverOptions& options = {});

}  // namespace eplb::gpu
