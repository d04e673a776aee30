#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "eplb/group/rendezvous.hpp"
#include "wire.hpp"

namespace eplb::group {

/// Of what processes say to each other; one more with each change of it.
inline constexpr std::uint32_t kProtocol = 1;

/// How a process introduces itself.
struct Hello {
  std::uint32_t protocol = kProtocol;
  std::string run_id;
  std::string version;
  std::uint64_t settings_digest = 0;
  std::int32_t rank_count = 0;
  Member member;
};

[[nodiscard]] Hello hello_of(const RendezvousOptions& options);

[[nodiscard]] Bytes encode(const Hello& hello);

/// None if it is no hello. Of another protocol's only the number is read.
[[nodiscard]] std::optional<Hello> decode_hello(std::span<const std::byte> bytes);

[[nodiscard]] Bytes encode_members(const std::vector<Member>& members);
[[nodiscard]] std::optional<std::vector<Member>> decode_members(std::span<const std::byte> bytes);

[[nodiscard]] Bytes encode_error(const Error& error);
[[nodiscard]] Error decode_error(std::span<const std::byte> bytes);

[[nodiscard]] Bytes encode_parts(const std::vector<Bytes>& parts);
[[nodiscard]] std::optional<std::vector<Bytes>> decode_parts(std::span<const std::byte> bytes);

/// `rank 3`, or `ranks 3, 4 and 7`, or `ranks 3, 4, 5 and 9 more`.
[[nodiscard]] std::string name_ranks(const std::vector<RankId>& ranks);

/// `rank 3 was lost`, or `ranks 3 and 4 were lost`.
[[nodiscard]] std::string was_lost(const std::vector<RankId>& ranks);

}  // namespace eplb::group
