#include "eplb/group/shared_bytes.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "eplb/group/descriptor.hpp"
#include "wire.hpp"

namespace eplb::group {
namespace {

Error system_problem(const std::string& what) {
  const std::error_code reason(errno, std::generic_category());
  return Error{ErrorCode::kResourceExhausted, what + ": " + reason.message(),
               Site{__FILE__, __LINE__}};
}

Result<Descriptor> created(std::int64_t bytes) {
  Descriptor memory(::memfd_create("eplb-shared", MFD_CLOEXEC));
  if (!memory || ::ftruncate(memory.get(), bytes) != 0) {
    return tl::unexpected(
        system_problem("no shared memory of " + std::to_string(bytes) + " bytes"));
  }
  return memory;
}

Result<Descriptor> opened(std::int64_t owner_pid, int descriptor) {
  const std::string path =
      "/proc/" + std::to_string(owner_pid) + "/fd/" + std::to_string(descriptor);
  Descriptor memory(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!memory) {
    return tl::unexpected(system_problem("the shared memory of process " +
                                         std::to_string(owner_pid) + " cannot be opened"));
  }
  return memory;
}

Result<std::span<std::byte>> mapped(const Result<Descriptor>& memory, std::int64_t bytes) {
  if (!memory) {
    return tl::unexpected(memory.error());
  }
  void* address = ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE,
                         MAP_SHARED, memory->get(), 0);
  // NOLINTNEXTLINE: the C macro casts an integer to a pointer.
  if (address == MAP_FAILED) {
    return tl::unexpected(
        system_problem(std::to_string(bytes) + " bytes of shared memory cannot be mapped"));
  }
  return std::span(static_cast<std::byte*>(address), static_cast<std::size_t>(bytes));
}

Result<void> check_one_host(const Membership& membership) {
  for (const Member& member : membership.members()) {
    if (member.identity != membership.members().front().identity) {
      return fail(ErrorCode::kUnsupported, "memory is shared within one host, and " +
                                               membership.members().front().host + " and " +
                                               member.host + " are two");
    }
  }
  return {};
}

}  // namespace

// Two exchanges: the first process offers its memory, then all say whether they have it.
Result<std::unique_ptr<SharedBytes>> SharedBytes::map(Membership& membership, std::int64_t bytes,
                                                      std::int64_t deadline_ms) {
  if (auto one_host = check_one_host(membership); !one_host) {
    return tl::unexpected(one_host.error());
  }
  const bool owns = membership.own_index() == 0;
  Result<Descriptor> memory = owns ? created(bytes) : Result<Descriptor>(Descriptor());
  ByteWriter offer;
  offer.put(static_cast<std::int32_t>(owns && memory ? memory->get() : -1));
  const auto offers = membership.exchange(offer.bytes(), deadline_ms);
  if (!offers) {
    return tl::unexpected(offers.error());
  }
  if (!owns) {
    ByteReader reader(offers->front());
    memory = opened(membership.members().front().pid, reader.get<std::int32_t>());
  }
  const Result<std::span<std::byte>> own = mapped(memory, bytes);
  ByteWriter standing;
  standing.put(static_cast<std::int32_t>(own ? 1 : 0));
  const auto all = membership.exchange(standing.bytes(), deadline_ms);
  std::unique_ptr<SharedBytes> shared(own ? new SharedBytes(*own) : nullptr);
  if (!own) {
    return tl::unexpected(own.error());
  }
  if (!all) {
    return tl::unexpected(all.error());
  }
  for (const Bytes& theirs : *all) {
    ByteReader reader(theirs);
    if (reader.get<std::int32_t>() != 1) {
      return fail(ErrorCode::kPeerFailed, "another process could not map the shared memory");
    }
  }
  return shared;
}

SharedBytes::~SharedBytes() {
  ::munmap(bytes_.data(), bytes_.size());
}

}  // namespace eplb::group
