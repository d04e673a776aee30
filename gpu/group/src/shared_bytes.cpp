#include "eplb/group/shared_bytes.hpp"

#include <string>
#include <utility>
#include <vector>

#include "wire.hpp"

namespace eplb::group {
namespace {

/// What errors call it.
constexpr std::string_view kNoun = "shared area";

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
  Result<SharedMemory> memory = SharedMemory();
  if (owns) {
    memory = SharedMemory::create(kNoun, "eplb-shared", bytes);
  }
  ByteWriter offer;
  offer.put(static_cast<std::int32_t>(owns && memory ? memory->descriptor() : -1));
  const auto offers = membership.exchange(offer.bytes(), deadline_ms);
  if (!offers) {
    return tl::unexpected(offers.error());
  }
  if (!owns) {
    ByteReader reader(offers->front());
    memory = SharedMemory::open(kNoun, membership.members().front().pid, reader.get<std::int32_t>(),
                                bytes);
  }
  ByteWriter standing;
  standing.put(static_cast<std::int32_t>(memory ? 1 : 0));
  const auto all = membership.exchange(standing.bytes(), deadline_ms);
  if (!memory) {
    return tl::unexpected(memory.error());
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
  return std::unique_ptr<SharedBytes>(new SharedBytes(*std::move(memory)));
}

}  // namespace eplb::group
