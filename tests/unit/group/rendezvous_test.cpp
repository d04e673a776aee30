// Goal: all processes of a run find each other, or all are told the same reason why not. Method:
// processes as threads, each with what it would say; the reasons are compared word for word.
#include "eplb/group/rendezvous.hpp"

#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "connection.hpp"
#include "joined_ranks.hpp"

namespace eplb::group {
namespace {

using test::FreePort;
using Joined = Result<std::unique_ptr<Rendezvous>>;

constexpr std::int64_t kShortMs = 300;

RendezvousOptions options_of(std::int32_t rank, std::int32_t rank_count, const FreePort& port) {
  RendezvousOptions options;
  options.port = port.number();
  options.rank_count = rank_count;
  options.ranks = {RankId{rank}};
  options.run_id = "run";
  options.version = "1.0";
  options.settings_digest = 7;
  options.deadline_ms = test::kPatienceMs;
  return options;
}

/// All processes of a run, each after `change` to what it says.
std::vector<Joined> join_all(std::int32_t count,
                             const std::function<void(RendezvousOptions&)>& change = {}) {
  const FreePort port;
  std::vector<Joined> joined(static_cast<std::size_t>(count));
  test::run_beside(joined.size(), [&](std::size_t index) {
    RendezvousOptions options = options_of(static_cast<std::int32_t>(index), count, port);
    if (change) {
      change(options);
    }
    joined[index] = Rendezvous::join(options);
  });
  return joined;
}

void check_all_refused(const std::vector<Joined>& joined, ErrorCode code,
                       const std::string& message) {
  for (const Joined& result : joined) {
    REQUIRE(!result);
    CHECK(result.error().code == code);
    CHECK(result.error().message == message);
  }
}

std::vector<std::byte> bytes_of(std::size_t count, std::uint8_t value) {
  return std::vector<std::byte>(count, std::byte{value});
}

TEST_CASE("rendezvous: all get the same roster, by rank, with what each has said") {
  const std::vector<Joined> joined = join_all(8, [](RendezvousOptions& options) {
    const std::int32_t rank = options.ranks.front().value;
    options.payload = bytes_of(static_cast<std::size_t>(rank), static_cast<std::uint8_t>(rank));
  });
  for (std::size_t index = 0; index < joined.size(); ++index) {
    REQUIRE(joined[index].has_value());
    const Rendezvous& rendezvous = **joined[index];
    CHECK(rendezvous.own_index() == index);
    REQUIRE(rendezvous.members().size() == 8);
    for (std::size_t other = 0; other < 8; ++other) {
      const Member& member = rendezvous.members()[other];
      CHECK(member.ranks == std::vector{RankId{static_cast<std::int32_t>(other)}});
      CHECK(member.payload == bytes_of(other, static_cast<std::uint8_t>(other)));
      CHECK(member.pid == ::getpid());
      CHECK(member.identity == host_identity());
      CHECK(member.user == std::to_string(::getuid()));
    }
  }
}

TEST_CASE("rendezvous: a process may hold several ranks, in any order") {
  const FreePort port;
  std::array<Joined, 2> joined;
  test::run_beside(2, [&](std::size_t index) {
    RendezvousOptions options = options_of(0, 5, port);
    options.ranks = index == 0 ? std::vector{RankId{3}, RankId{0}}
                               : std::vector{RankId{4}, RankId{1}, RankId{2}};
    joined[index] = Rendezvous::join(options);
  });
  REQUIRE(joined[1].has_value());
  CHECK((*joined[1])->members()[0].ranks == std::vector{RankId{0}, RankId{3}});
  CHECK((*joined[1])->own().ranks == std::vector{RankId{1}, RankId{2}, RankId{4}});
}

TEST_CASE(
    "rendezvous: exchanges bring all parts to all, as often as wanted, empty and large ones") {
  std::vector<Joined> joined = join_all(4);
  test::run_beside(4, [&](std::size_t index) {
    for (std::size_t round = 0; round < 5; ++round) {
      const std::size_t size = round == 2 ? 1'000'000 : index * round;
      const auto parts =
          (*joined[index])
              ->exchange(bytes_of(size, static_cast<std::uint8_t>(index)), test::kPatienceMs);
      REQUIRE(parts.has_value());
      for (std::size_t other = 0; other < 4; ++other) {
        const std::size_t expected = round == 2 ? 1'000'000 : other * round;
        CHECK((*parts)[other] == bytes_of(expected, static_cast<std::uint8_t>(other)));
      }
    }
    CHECK((*joined[index])->barrier(test::kPatienceMs).has_value());
  });
}

TEST_CASE("rendezvous: ranks that do not come are named to all that did") {
  const FreePort port;
  std::array<Joined, 3> joined;
  test::run_beside(3, [&](std::size_t index) {
    RendezvousOptions options = options_of(static_cast<std::int32_t>(2 * index), 6, port);
    options.deadline_ms = index == 0 ? kShortMs : test::kPatienceMs;
    joined[index] = Rendezvous::join(options);
  });
  for (const Joined& result : joined) {
    REQUIRE(!result);
    CHECK(result.error().code == ErrorCode::kTimeout);
    CHECK(result.error().message == "ranks 1, 3 and 5 of 6 did not come within 300 ms");
  }
}

TEST_CASE("rendezvous: without rank 0 the others say whom they could not reach") {
  const FreePort port;
  RendezvousOptions options = options_of(1, 2, port);
  options.deadline_ms = kShortMs;
  const Joined joined = Rendezvous::join(options);
  REQUIRE(!joined);
  CHECK(joined.error().code == ErrorCode::kTimeout);
  CHECK(joined.error().message == "rank 0 cannot be reached: nobody listens at 127.0.0.1:" +
                                      std::to_string(port.number()) + " after 300 ms");
}

TEST_CASE("rendezvous: a port in use is named, and how to choose another") {
  const Listener taken = listen_at({.host = "127.0.0.1", .port = 0}).value();
  RendezvousOptions options;
  options.port = taken.port;
  options.ranks = {RankId{0}};
  const Joined joined = Rendezvous::join(options);
  REQUIRE(!joined);
  CHECK(joined.error().code == ErrorCode::kResourceExhausted);
  CHECK(joined.error().message == "port " + std::to_string(taken.port) +
                                      " is in use: name a free one in EPLB_RENDEZVOUS=host:port");
}

TEST_CASE("rendezvous: ranks with another configuration are named to all") {
  check_all_refused(join_all(5,
                             [](RendezvousOptions& options) {
                               if (options.ranks.front().value % 3 == 1) {
                                 options.settings_digest = 8;
                               }
                             }),
                    ErrorCode::kInvalidConfig,
                    "a configuration that differs from rank 0's was given to ranks 1 and 4");
}

TEST_CASE("rendezvous: a rank with another version is named to all") {
  check_all_refused(join_all(3,
                             [](RendezvousOptions& options) {
                               options.version = options.ranks.front().value == 2 ? "2.0" : "1.0";
                             }),
                    ErrorCode::kInvalidConfig,
                    "another version of eplb than rank 0's (1.0) is run by rank 2");
}

TEST_CASE("rendezvous: a rank that two processes claim is named to all") {
  const std::vector<Joined> joined = join_all(3, [](RendezvousOptions& options) {
    options.ranks = options.ranks.front().value == 2 ? std::vector{RankId{1}} : options.ranks;
  });
  for (const Joined& result : joined) {
    REQUIRE(!result);
    CHECK(result.error().code == ErrorCode::kInvalidArgument);
    CHECK(result.error().message.starts_with("rank 1 is claimed by two processes: pid "));
  }
}

TEST_CASE("rendezvous: a process that counts other ranks is refused with both counts") {
  const std::vector<Joined> joined = join_all(2, [](RendezvousOptions& options) {
    options.rank_count = options.ranks.front().value == 0 ? 2 : 3;
  });
  for (const Joined& result : joined) {
    REQUIRE(!result);
    CHECK(result.error().code == ErrorCode::kInvalidConfig);
    CHECK(result.error().message.ends_with("counts 3 ranks, rank 0 counts 2"));
  }
}

TEST_CASE("rendezvous: a process of another run is turned away and does no harm") {
  const FreePort port;
  std::array<Joined, 2> joined;
  Joined stranger;
  std::thread first([&] { joined[0] = Rendezvous::join(options_of(0, 2, port)); });
  RendezvousOptions options = options_of(1, 2, port);
  options.run_id = "another";
  stranger = Rendezvous::join(options);
  joined[1] = Rendezvous::join(options_of(1, 2, port));
  first.join();
  REQUIRE(!stranger);
  CHECK(stranger.error().message ==
        "the rendezvous belongs to another run (run): this process is of run another");
  CHECK(joined[0].has_value());
  CHECK(joined[1].has_value());
}

TEST_CASE("rendezvous: who speaks otherwise, or not at all, is nobody") {
  const FreePort port;
  Joined first;
  std::thread listening([&] { first = Rendezvous::join(options_of(0, 2, port)); });
  const Deadline deadline = Deadline::after_ms(test::kPatienceMs);
  const Endpoint endpoint{.host = "127.0.0.1", .port = port.number()};
  const Connection silent = connect_to(endpoint, deadline).value();
  const Connection scanner = connect_to(endpoint, deadline).value();
  const std::string request = "GET / HTTP/1.1\r\nHost: anyone\r\n\r\n";
  CHECK(::send(scanner.descriptor(), request.data(), request.size(), MSG_NOSIGNAL) ==
        static_cast<ssize_t>(request.size()));
  Connection nonsense = connect_to(endpoint, deadline).value();
  ByteWriter half;  // The protocol is right, but what must follow is not there.
  half.put(std::uint32_t{1});
  half.put(std::uint32_t{1'000'000});
  CHECK(nonsense.send(FrameKind::kHello, half.bytes(), deadline).has_value());
  const Joined second = Rendezvous::join(options_of(1, 2, port));
  listening.join();
  CHECK(first.has_value());
  CHECK(second.has_value());
}

TEST_CASE("rendezvous: another protocol is another version") {
  const FreePort port;
  Joined first;
  std::thread listening([&] { first = Rendezvous::join(options_of(0, 2, port)); });
  const Deadline deadline = Deadline::after_ms(test::kPatienceMs);
  Connection other = connect_to({.host = "127.0.0.1", .port = port.number()}, deadline).value();
  ByteWriter hello;
  hello.put(std::uint32_t{9});
  CHECK(other.send(FrameKind::kHello, hello.bytes(), deadline).has_value());
  listening.join();
  REQUIRE(!first);
  CHECK(first.error().code == ErrorCode::kInvalidConfig);
  CHECK(first.error().message ==
        "a process runs another version of eplb: it speaks protocol 9, rank 0 speaks 1");
}

TEST_CASE("rendezvous: a process that goes during an exchange is named to all") {
  std::vector<Joined> joined = join_all(3);
  joined[2]->reset();
  std::array<Result<std::vector<std::vector<std::byte>>>, 2> parts;
  test::run_beside(2, [&](std::size_t index) {
    parts[index] = (*joined[index])->exchange({}, test::kPatienceMs);
  });
  for (const auto& result : parts) {
    REQUIRE(!result);
    CHECK(result.error().code == ErrorCode::kPeerFailed);
    CHECK(result.error().message == "rank 2 was lost");
  }
}

TEST_CASE("rendezvous: a process that gives nothing to an exchange is named to all") {
  std::vector<Joined> joined = join_all(3);
  std::array<Result<std::vector<std::vector<std::byte>>>, 2> parts;
  test::run_beside(
      2, [&](std::size_t index) { parts[index] = (*joined[index])->exchange({}, kShortMs); });
  for (const auto& result : parts) {
    REQUIRE(!result);
    CHECK(result.error().code == ErrorCode::kTimeout);
    CHECK(result.error().message == "rank 2 gave nothing to an exchange of all within 300 ms");
  }
}

TEST_CASE("rendezvous: ranks that no group has are refused") {
  for (const std::vector<RankId>& ranks :
       {std::vector{RankId{0}, RankId{0}}, std::vector{RankId{0}, RankId{5}}}) {
    const FreePort port;
    RendezvousOptions options = options_of(0, 5, port);
    options.ranks = ranks;
    const Joined joined = Rendezvous::join(options);
    REQUIRE(!joined);
    CHECK(joined.error().message ==
          "a process holds at least one rank, each once, below the rank count");
  }
}

}  // namespace
}  // namespace eplb::group
