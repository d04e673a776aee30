#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "deadline.hpp"
#include "eplb/core/result.hpp"
#include "eplb/group/descriptor.hpp"
#include "wire.hpp"

namespace eplb::group {

enum class FrameKind : std::uint32_t {
  kHello,    ///< A process introduces itself to process 0.
  kRoster,   ///< All that came, to all.
  kRefused,  ///< An error, the same for all.
  kGive,     ///< A process' part of an exchange.
  kGather,   ///< All parts, to all.
  kLink,     ///< A host's first process introduces itself to process 0's bridge.
  kStatus,   ///< A rank's records, from host to host.
  kRetired,
  kHeartbeat,
  kSum,
  kStep,
  kLeft,
  kProposal,  ///< A failure, to the host that decides which was first.
  kEnd,       ///< The failure that ended the group.
};

struct Frame {
  FrameKind kind = FrameKind::kHello;
  Bytes body;
};

/// Frames over a stream socket. Never waits without a deadline.
class Connection {
 public:
  explicit Connection(Descriptor socket);

  /// Takes in what has arrived. False once the other end has closed, or has sent what is no frame;
  /// frames that came whole before that can still be taken.
  bool take_in();

  /// The oldest frame that has arrived whole.
  [[nodiscard]] std::optional<Frame> next_frame();

  /// kPeerFailed if the other end is gone, kTimeout if it does not read.
  [[nodiscard]] Result<void> send(FrameKind kind, std::span<const std::byte> body,
                                  const Deadline& deadline);

  /// Waits for a frame: kPeerFailed if the other end is gone, kTimeout if none came.
  [[nodiscard]] Result<Frame> receive(const Deadline& deadline);

  [[nodiscard]] int descriptor() const { return socket_.get(); }

  /// Ends both directions; whoever waits at either end is woken.
  void shut_down() const;

 private:
  Descriptor socket_;
  Bytes arrived_;
  std::size_t taken_ = 0;  ///< Bytes of `arrived_` that frames were made of.
  bool open_ = true;
};

struct Endpoint {
  std::string host;
  std::uint16_t port = 0;
};

[[nodiscard]] std::string to_string(const Endpoint& endpoint);

struct Listener {
  Descriptor socket;
  std::uint16_t port = 0;
};

/// Listens at a port, 0 for any, on this machine's loopback interface if `endpoint.host` names it,
/// else on all. kResourceExhausted if the port is in use.
[[nodiscard]] Result<Listener> listen_at(const Endpoint& endpoint);

/// The next connection that waits; none if none does.
[[nodiscard]] std::optional<Connection> accept_from(const Descriptor& listener);

/// Waits for the next connection; none if none came.
[[nodiscard]] std::optional<Connection> wait_for_connection(const Descriptor& listener,
                                                            const Deadline& deadline);

/// Tries until somebody listens there: kTimeout after the deadline.
[[nodiscard]] Result<Connection> connect_to(const Endpoint& endpoint, const Deadline& deadline);

/// A socket bound to a port of the loopback interface that nobody else is given, at which a child
/// may still listen.
[[nodiscard]] Result<Listener> reserve_loopback_port();

}  // namespace eplb::group
