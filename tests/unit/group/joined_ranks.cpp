#include "joined_ranks.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>

namespace eplb::test {

FreePort::FreePort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const int on = 1;
  ::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): how sockets name addresses.
  auto* named = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket_, named, size) != 0 || ::getsockname(socket_, named, &size) != 0) {
    throw std::runtime_error("no free port");
  }
  number_ = ntohs(address.sin_port);
}

FreePort::~FreePort() {
  ::close(socket_);
}

void run_beside(std::size_t count, const std::function<void(std::size_t)>& of) {
  std::vector<std::thread> threads;
  threads.reserve(count);
  for (std::size_t index = 0; index < count; ++index) {
    threads.emplace_back([&of, index] { of(index); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

JoinedRanks join_ranks(Joining joining, std::int32_t rank_count, const group::SumSizes& sums) {
  JoinedRanks joined;
  if (joining == Joining::kThreads) {
    joined.memberships.push_back(group::Membership::alone(rank_count, sums).value());
    for (std::int32_t rank = 0; rank < rank_count; ++rank) {
      joined.planes.push_back(joined.memberships.front()->control_plane(RankId{rank}));
    }
    return joined;
  }
  const FreePort port;
  joined.memberships.resize(static_cast<std::size_t>(rank_count));
  run_beside(joined.memberships.size(), [&](std::size_t index) {
    group::RendezvousOptions options;
    options.port = port.number();
    options.rank_count = rank_count;
    options.ranks = {RankId{static_cast<std::int32_t>(index)}};
    options.deadline_ms = kPatienceMs;
    if (joining == Joining::kHosts) {
      options.identity = "host " + std::to_string(index / 2);
    }
    joined.memberships[index] = group::Membership::join(options, sums).value();
  });
  for (std::int32_t rank = 0; rank < rank_count; ++rank) {
    joined.planes.push_back(joined.memberships[RankId{rank}.index()]->control_plane(RankId{rank}));
  }
  return joined;
}

}  // namespace eplb::test
