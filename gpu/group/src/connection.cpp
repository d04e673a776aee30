#include "connection.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

namespace eplb::group {
namespace {

constexpr std::uint32_t kMagic = 0x424c5045;  // "EPLB"
constexpr std::uint64_t kFrameBytesMax = std::uint64_t{1} << 30U;

struct FrameHeader {
  std::uint32_t magic;
  FrameKind kind;
  std::uint64_t body_bytes;
};

std::string error_text(int error) {
  return std::generic_category().message(error);
}

struct AddressesDeleter {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

using Addresses = std::unique_ptr<addrinfo, AddressesDeleter>;

Result<Addresses> resolve(const Endpoint& endpoint, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const std::string port = std::to_string(endpoint.port);
  const int error = ::getaddrinfo(endpoint.host.empty() ? nullptr : endpoint.host.c_str(),
                                  port.c_str(), &hints, &list);
  if (error != 0) {
    return fail(ErrorCode::kInvalidArgument,
                "the rendezvous host " + endpoint.host + " is not known: " + ::gai_strerror(error));
  }
  return Addresses(list);
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

void set_option(int socket, int level, int option) {
  const int on = 1;
  ::setsockopt(socket, level, option, &on, sizeof(on));
}

std::uint16_t port_of(int socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): how sockets name addresses.
  auto* address = reinterpret_cast<sockaddr*>(&storage);
  if (::getsockname(socket, address, &size) != 0) {
    return 0;
  }
  in_port_t port = 0;
  if (storage.ss_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &storage, sizeof(v6));
    port = v6.sin6_port;
  } else {
    sockaddr_in v4{};
    std::memcpy(&v4, &storage, sizeof(v4));
    port = v4.sin_port;
  }
  return ntohs(port);
}

/// A socket bound to the first address that takes it. Gives errno's value of the last that did not.
std::pair<Descriptor, int> bind_to(const addrinfo* addresses) {
  int error = EADDRNOTAVAIL;
  for (const addrinfo* at = addresses; at != nullptr; at = at->ai_next) {
    Descriptor socket(::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) {
      error = errno;
      continue;
    }
    set_option(socket.get(), SOL_SOCKET, SO_REUSEADDR);
    if (::bind(socket.get(), at->ai_addr, at->ai_addrlen) == 0) {
      return {std::move(socket), 0};
    }
    error = errno;
  }
  return {Descriptor(), error};
}

/// Starts a connection and waits for its outcome. Empty if it was refused.
Descriptor try_connect(const addrinfo& address, const Deadline& deadline) {
  Descriptor socket(
      ::socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) {
    return {};
  }
  if (::connect(socket.get(), address.ai_addr, address.ai_addrlen) != 0) {
    // An address that swallows what is sent to it must not keep the next from being tried.
    constexpr std::int64_t kAttemptMs = 2'000;
    pollfd waiting{.fd = socket.get(), .events = POLLOUT, .revents = 0};
    if (errno != EINPROGRESS || ::poll(&waiting, 1, deadline.left_ms(kAttemptMs)) != 1) {
      return {};
    }
    int error = 0;
    socklen_t size = sizeof(error);
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) {
      return {};
    }
  }
  return socket;
}

}  // namespace

std::string to_string(const Endpoint& endpoint) {
  const bool is_v6 = endpoint.host.find(':') != std::string::npos;
  return (is_v6 ? "[" + endpoint.host + "]" : endpoint.host) + ":" + std::to_string(endpoint.port);
}

Connection::Connection(Descriptor socket) : socket_(std::move(socket)) {
  set_option(socket_.get(), IPPROTO_TCP, TCP_NODELAY);
}

bool Connection::take_in() {
  constexpr std::size_t kChunkBytes = std::size_t{1} << 16U;
  while (open_) {
    const std::size_t size = arrived_.size();
    arrived_.resize(size + kChunkBytes);
    const ssize_t got = ::recv(socket_.get(), arrived_.data() + size, kChunkBytes, MSG_DONTWAIT);
    arrived_.resize(size + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      break;
    }
    open_ = got > 0;
  }
  return open_;
}

std::optional<Frame> Connection::next_frame() {
  FrameHeader header{};
  if (arrived_.size() - taken_ < sizeof(header)) {
    return std::nullopt;
  }
  std::memcpy(&header, arrived_.data() + taken_, sizeof(header));
  if (header.magic != kMagic || header.body_bytes > kFrameBytesMax) {
    open_ = false;  // Not one of ours: nothing more of it is believed.
    arrived_.clear();
    taken_ = 0;
    return std::nullopt;
  }
  const std::size_t begin = taken_ + sizeof(header);
  if (arrived_.size() - begin < header.body_bytes) {
    return std::nullopt;
  }
  const auto first = arrived_.begin() + static_cast<std::ptrdiff_t>(begin);
  Frame frame{.kind = header.kind,
              .body = Bytes(first, first + static_cast<std::ptrdiff_t>(header.body_bytes))};
  taken_ = begin + header.body_bytes;
  if (taken_ == arrived_.size()) {
    arrived_.clear();
    taken_ = 0;
  }
  return frame;
}

Result<void> Connection::send(FrameKind kind, std::span<const std::byte> body,
                              const Deadline& deadline) {
  const FrameHeader header{.magic = kMagic, .kind = kind, .body_bytes = body.size()};
  Bytes frame(sizeof(header) + body.size());
  std::memcpy(frame.data(), &header, sizeof(header));
  std::ranges::copy(body, frame.begin() + sizeof(header));
  std::span<const std::byte> left(frame);
  while (!left.empty()) {
    const ssize_t sent = ::send(socket_.get(), left.data(), left.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      left = left.subspan(static_cast<std::size_t>(sent));
      continue;
    }
    if (errno == EINTR) {
      continue;
    }
    if (errno != EAGAIN && errno != EWOULDBLOCK) {
      return fail(ErrorCode::kPeerFailed, "the connection was closed: " + error_text(errno));
    }
    pollfd waiting{.fd = socket_.get(), .events = POLLOUT, .revents = 0};
    if (deadline.passed() || ::poll(&waiting, 1, deadline.left_ms()) == 0) {
      return fail(ErrorCode::kTimeout, "the other end does not read");
    }
  }
  return {};
}

Result<Frame> Connection::receive(const Deadline& deadline) {
  while (true) {
    const bool open = take_in();
    if (std::optional<Frame> frame = next_frame()) {
      return std::move(*frame);
    }
    if (!open || !open_) {
      return fail(ErrorCode::kPeerFailed, "the connection was closed");
    }
    if (deadline.passed()) {
      return fail(ErrorCode::kTimeout, "nothing came");
    }
    pollfd waiting{.fd = socket_.get(), .events = POLLIN, .revents = 0};
    ::poll(&waiting, 1, deadline.left_ms());
  }
}

void Connection::shut_down() const {
  ::shutdown(socket_.get(), SHUT_RDWR);
}

Result<Listener> listen_at(const Endpoint& endpoint) {
  const bool local = is_loopback(endpoint.host);
  const Result<Addresses> addresses =
      resolve({.host = local ? endpoint.host : "", .port = endpoint.port}, AI_PASSIVE);
  if (!addresses) {
    return tl::unexpected(addresses.error());
  }
  auto [socket, error] = bind_to(addresses->get());
  if (socket && ::listen(socket.get(), SOMAXCONN) != 0) {
    error = errno;
  }
  if (error != 0) {
    const std::string place = "port " + std::to_string(endpoint.port);
    return fail(ErrorCode::kResourceExhausted,
                error == EADDRINUSE
                    ? place + " is in use: name a free one in EPLB_RENDEZVOUS=host:port"
                    : "cannot listen at " + place + ": " + error_text(error));
  }
  const std::uint16_t port = port_of(socket.get());
  return Listener{.socket = std::move(socket), .port = port};
}

std::optional<Connection> accept_from(const Descriptor& listener) {
  Descriptor socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket) {
    return std::nullopt;
  }
  return Connection(std::move(socket));
}

std::optional<Connection> wait_for_connection(const Descriptor& listener,
                                              const Deadline& deadline) {
  pollfd waiting{.fd = listener.get(), .events = POLLIN, .revents = 0};
  ::poll(&waiting, 1, deadline.left_ms());
  return accept_from(listener);
}

Result<Connection> connect_to(const Endpoint& endpoint, const Deadline& deadline) {
  const Result<Addresses> addresses = resolve(endpoint, 0);
  if (!addresses) {
    return tl::unexpected(addresses.error());
  }
  std::chrono::milliseconds pause(1);
  while (true) {
    for (const addrinfo* at = addresses->get(); at != nullptr; at = at->ai_next) {
      if (Descriptor socket = try_connect(*at, deadline)) {
        return Connection(std::move(socket));
      }
    }
    if (deadline.passed()) {
      return fail(ErrorCode::kTimeout, "nobody listens at " + to_string(endpoint));
    }
    std::this_thread::sleep_for(std::min(pause, std::chrono::milliseconds(deadline.left_ms())));
    pause = std::min(2 * pause, std::chrono::milliseconds(50));
  }
}

Result<Listener> reserve_loopback_port() {
  const Result<Addresses> addresses = resolve({.host = "127.0.0.1", .port = 0}, AI_PASSIVE);
  if (!addresses) {
    return tl::unexpected(addresses.error());
  }
  auto [socket, error] = bind_to(addresses->get());
  if (!socket) {
    return fail(ErrorCode::kResourceExhausted, "no port is free: " + error_text(error));
  }
  const std::uint16_t port = port_of(socket.get());
  return Listener{.socket = std::move(socket), .port = port};
}

}  // namespace eplb::group
