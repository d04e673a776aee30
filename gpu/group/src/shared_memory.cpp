#include "eplb/group/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace eplb::group {
namespace {

Error system_error(ErrorCode code, const std::string& what) {
  return fail(code, what + ": " + std::generic_category().message(errno)).value();
}

}  // namespace

SharedMemory::SharedMemory(Descriptor memory, std::span<std::byte> bytes)
    : memory_(std::move(memory)), bytes_(bytes) {}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : memory_(std::move(other.memory_)), bytes_(std::exchange(other.bytes_, {})) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  if (this != &other) {
    unmap();
    memory_ = std::move(other.memory_);
    bytes_ = std::exchange(other.bytes_, {});
  }
  return *this;
}

Result<SharedMemory> SharedMemory::create(std::string_view noun, const std::string& name,
                                          std::int64_t bytes) {
  Descriptor memory(::memfd_create(name.c_str(), MFD_CLOEXEC));
  if (!memory) {
    return tl::unexpected(system_error(ErrorCode::kResourceExhausted, "no shared memory"));
  }
  if (::ftruncate(memory.get(), bytes) != 0) {
    return tl::unexpected(system_error(ErrorCode::kResourceExhausted,
                                       "no shared memory of " + std::to_string(bytes) + " bytes"));
  }
  return map(noun, std::move(memory), bytes);
}

Result<SharedMemory> SharedMemory::open(std::string_view noun, std::int64_t owner_pid,
                                        int owner_descriptor, std::int64_t bytes) {
  const std::string owners =
      "the " + std::string(noun) + " of process " + std::to_string(owner_pid);
  const std::string path =
      "/proc/" + std::to_string(owner_pid) + "/fd/" + std::to_string(owner_descriptor);
  Descriptor memory(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!memory) {
    return tl::unexpected(system_error(ErrorCode::kPeerFailed, owners + " cannot be opened"));
  }

  struct stat status {};

  if (::fstat(memory.get(), &status) != 0 || status.st_size != bytes) {
    return fail(ErrorCode::kInvalidConfig,
                owners + " is of another size than this process expects");
  }
  return map(noun, std::move(memory), bytes);
}

Result<SharedMemory> SharedMemory::map(std::string_view noun, Descriptor memory,
                                       std::int64_t bytes) {
  void* address = ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                         MAP_SHARED, memory.get(), 0);
  // NOLINTNEXTLINE: the C macro casts an integer to a pointer.
  if (address == MAP_FAILED) {
    return tl::unexpected(system_error(
        ErrorCode::kResourceExhausted,
        "a " + std::string(noun) + " of " + std::to_string(bytes) + " bytes cannot be mapped"));
  }
  return SharedMemory(std::move(memory),
                      std::span(static_cast<std::byte*>(address), static_cast<std::size_t>(bytes)));
}

void SharedMemory::unmap() {
  if (!bytes_.empty()) {
    ::munmap(bytes_.data(), bytes_.size());
  }
}

}  // namespace eplb::group
