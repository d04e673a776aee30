#include "file_handover.hpp"

#include <sys/poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <optional>
#include <system_error>

namespace eplb::gpu {
namespace {

struct Owner {
  std::int64_t process = 0;
  int descriptor = -1;
};

/// Where a rank takes descriptors, and the number that it takes them by.
struct Inbox {
  std::int64_t process = 0;
  std::uint64_t secret = 0;
};

struct Letter {
  std::uint64_t secret = 0;
  std::int32_t sender = 0;
};

std::string words_of(int code) {
  return std::generic_category().message(code);
}

FileDescriptor read_out(const Owner& owner) {
  const FileDescriptor process(
      static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(owner.process), 0U)));
  if (process.get() < 0) {
    return FileDescriptor{};
  }
  return FileDescriptor(
      static_cast<int>(syscall(SYS_pidfd_getfd, process.get(), owner.descriptor, 0U)));
}

/// The abstract name of an inbox: its first byte is 0.
sockaddr_un address_of(const Inbox& inbox, socklen_t& length) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name =
      "eplb-" + std::to_string(inbox.process) + "-" + std::to_string(inbox.secret);
  std::memcpy(&address.sun_path[1], name.data(), name.size());
  length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

Result<FileDescriptor> open_inbox(const Inbox& inbox) {
  FileDescriptor opened(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  socklen_t length = 0;
  const sockaddr_un address = address_of(inbox, length);
  if (opened.get() < 0 ||
      bind(opened.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) {
    return fail(ErrorCode::kUnsupported,
                "no socket to take file descriptors by: " + words_of(errno));
  }
  return opened;
}

/// Whether the letter left; false if the inbox is full or not yet open.
bool send(int from, const Inbox& inbox, const Letter& letter, int descriptor) {
  Letter content = letter;
  iovec part{.iov_base = &content, .iov_len = sizeof(content)};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  socklen_t length = 0;
  sockaddr_un address = address_of(inbox, length);
  msghdr message{};
  message.msg_name = &address;
  message.msg_namelen = length;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  return sendmsg(from, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof(content);
}

struct Delivery {
  Letter letter;
  FileDescriptor descriptor;
};

/// What lies in the inbox, or nothing.
std::optional<Delivery> receive(int inbox) {
  Delivery delivery;
  iovec part{.iov_base = &delivery.letter, .iov_len = sizeof(Letter)};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  if (recvmsg(inbox, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != sizeof(Letter)) {
    return std::nullopt;
  }
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) {
    return std::nullopt;
  }
  int descriptor = -1;
  std::memcpy(&descriptor, CMSG_DATA(header), sizeof(int));
  delivery.descriptor = FileDescriptor(descriptor);
  return delivery;
}

/// Sends and takes until all is done: a full inbox empties only while its owner takes.
Result<void> swap_letters(const PeerGroup& group, int mine, int inbox,
                          const std::vector<Inbox>& inboxes, std::int64_t limit_ns,
                          std::vector<FileDescriptor>& taken) {
  const Inbox& own = inboxes[group.rank.index()];
  std::vector<bool> sent(inboxes.size());
  std::vector<bool> is_elsewhere(inboxes.size());
  for (std::size_t rank = 0; rank < inboxes.size(); ++rank) {
    is_elsewhere[rank] = inboxes[rank].process != own.process;
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(limit_ns);
  while (std::chrono::steady_clock::now() < end) {
    bool all_done = true;
    for (std::size_t rank = 0; rank < inboxes.size(); ++rank) {
      if (is_elsewhere[rank] && !sent[rank]) {
        sent[rank] = send(inbox, inboxes[rank],
                          {.secret = inboxes[rank].secret, .sender = group.rank.value}, mine);
      }
    }
    while (std::optional<Delivery> delivery = receive(inbox)) {
      const auto sender = static_cast<std::size_t>(delivery->letter.sender);
      if (delivery->letter.secret == own.secret && sender < taken.size()) {
        taken[sender] = std::move(delivery->descriptor);
      }
    }
    for (std::size_t rank = 0; rank < inboxes.size(); ++rank) {
      all_done &= !is_elsewhere[rank] || (sent[rank] && taken[rank].get() >= 0);
    }
    if (all_done) {
      return {};
    }
    constexpr int kWaitMs = 2;
    pollfd waiting{.fd = inbox, .events = POLLIN, .revents = 0};
    static_cast<void>(poll(&waiting, 1, kWaitMs));
  }
  return fail(ErrorCode::kTimeout, "file descriptors of " + std::to_string(inboxes.size()) +
                                       " ranks were not handed over within " +
                                       std::to_string(limit_ns / 1'000'000) + " ms");
}

Result<std::vector<FileDescriptor>> take_by_socket(const PeerGroup& group, int mine,
                                                   std::int64_t limit_ns) {
  Inbox inbox{.process = getpid(), .secret = 0};
  Result<FileDescriptor> opened =
      getrandom(&inbox.secret, sizeof(inbox.secret), 0) == sizeof(inbox.secret)
          ? open_inbox(inbox)
          : fail(ErrorCode::kUnsupported, "no random number: " + words_of(errno));
  const Result<Inbox> address = opened ? Result<Inbox>(inbox) : tl::unexpected(opened.error());
  const Result<std::vector<Inbox>> inboxes = exchange(group, address);
  if (!inboxes) {
    return tl::unexpected(inboxes.error());
  }
  std::vector<FileDescriptor> taken(inboxes->size());
  const Result<void> swapped = swap_letters(group, mine, opened->get(), *inboxes, limit_ns, taken);
  // An inbox stays open until every rank has taken what it waits for.
  if (const Result<void> agreed = agree(group, swapped); !agreed) {
    return tl::unexpected(agreed.error());
  }
  return taken;
}

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (value_ >= 0) {
    close(value_);
  }
}

Result<std::vector<FileDescriptor>> hand_over_files(const PeerGroup& group, int mine,
                                                    const HandoverOptions& options) {
  const Result<std::vector<Owner>> owners =
      exchange(group, Result<Owner>(Owner{.process = getpid(), .descriptor = mine}));
  if (!owners) {
    return tl::unexpected(owners.error());
  }
  std::vector<FileDescriptor> read(owners->size());
  bool has_all = options.tries_pidfd;
  for (std::size_t rank = 0; rank < owners->size() && has_all; ++rank) {
    if ((*owners)[rank].process != getpid()) {
      read[rank] = read_out((*owners)[rank]);
      has_all = read[rank].get() >= 0;
    }
  }
  const Result<std::vector<std::uint8_t>> have_all =
      exchange(group, Result<std::uint8_t>(static_cast<std::uint8_t>(has_all ? 1 : 0)));
  if (!have_all) {
    return tl::unexpected(have_all.error());
  }
  if (std::ranges::count(*have_all, std::uint8_t{0}) == 0) {
    return read;
  }
  return take_by_socket(group, mine, options.limit_ns);
}

}  // namespace eplb::gpu
