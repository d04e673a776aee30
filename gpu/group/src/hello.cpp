#include "hello.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

namespace eplb::group {
namespace {

void put(ByteWriter& writer, const Member& member) {
  writer.put_all(std::span<const RankId>(member.ranks));
  writer.put(member.pid);
  writer.put_text(member.host);
  writer.put_text(member.identity);
  writer.put_text(member.user);
  writer.put_all(std::span<const std::byte>(member.payload));
}

Member get_member(ByteReader& reader) {
  Member member;
  member.ranks = reader.get_all<RankId>();
  member.pid = reader.get<std::int64_t>();
  member.host = reader.get_text();
  member.identity = reader.get_text();
  member.user = reader.get_text();
  member.payload = reader.get_all<std::byte>();
  return member;
}

}  // namespace

Hello hello_of(const RendezvousOptions& options) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  Hello hello;
  hello.run_id = options.run_id;
  hello.version = options.version;
  hello.settings_digest = options.settings_digest;
  hello.rank_count = options.rank_count;
  hello.member = {.ranks = options.ranks,
                  .pid = ::getpid(),
                  .host = host.data(),
                  .identity = options.identity,
                  .user = std::to_string(::getuid()),
                  .payload = options.payload};
  std::ranges::sort(hello.member.ranks);
  return hello;
}

Bytes encode(const Hello& hello) {
  ByteWriter writer;
  writer.put(hello.protocol);
  writer.put_text(hello.run_id);
  writer.put_text(hello.version);
  writer.put(hello.settings_digest);
  writer.put(hello.rank_count);
  put(writer, hello.member);
  return writer.bytes();
}

std::optional<Hello> decode_hello(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  Hello hello;
  hello.protocol = reader.get<std::uint32_t>();
  if (hello.protocol != kProtocol) {
    return hello;
  }
  hello.run_id = reader.get_text();
  hello.version = reader.get_text();
  hello.settings_digest = reader.get<std::uint64_t>();
  hello.rank_count = reader.get<std::int32_t>();
  hello.member = get_member(reader);
  return reader.complete() ? std::optional(std::move(hello)) : std::nullopt;
}

Bytes encode_members(const std::vector<Member>& members) {
  ByteWriter writer;
  writer.put(static_cast<std::uint32_t>(members.size()));
  for (const Member& member : members) {
    put(writer, member);
  }
  return writer.bytes();
}

std::optional<std::vector<Member>> decode_members(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  std::vector<Member> members;
  const auto count = reader.get<std::uint32_t>();
  for (std::uint32_t index = 0; index < count && reader.intact(); ++index) {
    members.push_back(get_member(reader));
  }
  return reader.complete() ? std::optional(std::move(members)) : std::nullopt;
}

Bytes encode_error(const Error& error) {
  ByteWriter writer;
  writer.put(error.code);
  writer.put_text(error.message);
  return writer.bytes();
}

Error decode_error(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  const auto code = reader.get<ErrorCode>();
  std::string message = reader.get_text();
  return fail(code, std::move(message)).value();
}

Bytes encode_parts(const std::vector<Bytes>& parts) {
  ByteWriter writer;
  writer.put(static_cast<std::uint32_t>(parts.size()));
  for (const Bytes& part : parts) {
    writer.put_all(std::span<const std::byte>(part));
  }
  return writer.bytes();
}

std::optional<std::vector<Bytes>> decode_parts(std::span<const std::byte> bytes) {
  ByteReader reader(bytes);
  std::vector<Bytes> parts;
  const auto count = reader.get<std::uint32_t>();
  for (std::uint32_t index = 0; index < count && reader.intact(); ++index) {
    parts.push_back(reader.get_all<std::byte>());
  }
  return reader.complete() ? std::optional(std::move(parts)) : std::nullopt;
}

std::string name_ranks(const std::vector<RankId>& ranks) {
  constexpr std::size_t kNamedMax = 8;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t index = 0; index < ranks.size(); ++index) {
    if (index == kNamedMax && ranks.size() > kNamedMax + 1) {
      return text + " and " + std::to_string(ranks.size() - kNamedMax) + " more";
    }
    if (index > 0) {
      text += index + 1 == ranks.size() ? " and " : ", ";
    }
    text += std::to_string(ranks[index].value);
  }
  return text;
}

std::string was_lost(const std::vector<RankId>& ranks) {
  return name_ranks(ranks) + (ranks.size() == 1 ? " was lost" : " were lost");
}

}  // namespace eplb::group
