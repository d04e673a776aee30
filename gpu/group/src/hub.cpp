#include "hub.hpp"

#include <poll.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace eplb::group {
namespace {

/// For those who are told something; they only have to read it.
constexpr std::int64_t kTellMs = 2'000;

std::string seconds(std::int64_t ms) {
  return ms % 1000 == 0 ? std::to_string(ms / 1000) + " s" : std::to_string(ms) + " ms";
}

std::string place_of(const Member& member) {
  return "pid " + std::to_string(member.pid) + " on " + member.host;
}

/// Whether ranks are what a process may hold: some, each once, each of the group.
bool are_ranks_of(const std::vector<RankId>& ranks, std::int32_t rank_count) {
  return !ranks.empty() && ranks.front().value >= 0 && ranks.back().value < rank_count &&
         std::ranges::adjacent_find(ranks) == ranks.end() && std::ranges::is_sorted(ranks);
}

}  // namespace

Hub::Hub(const RendezvousOptions& options, Listener listener)
    : own_hello_(hello_of(options)),
      deadline_ms_(options.deadline_ms),
      listener_(std::move(listener)) {}

Result<std::unique_ptr<Rendezvous>> Hub::gather(const RendezvousOptions& options) {
  Result<Listener> listener = listen_at({.host = options.host, .port = options.port});
  if (!listener) {
    return tl::unexpected(listener.error());
  }
  std::unique_ptr<Hub> hub(new Hub(options, std::move(*listener)));
  if (!are_ranks_of(hub->own_hello_.member.ranks, options.rank_count)) {
    return fail(ErrorCode::kInvalidArgument,
                "a process holds at least one rank, each once, below the rank count");
  }
  if (Result<void> came = hub->gather_all(); !came) {
    hub->refuse_all(came.error());
    hub->refuse_latecomers(came.error());
    return tl::unexpected(came.error());
  }
  if (Result<void> told = hub->welcome(); !told) {
    return tl::unexpected(told.error());
  }
  return hub;
}

Result<void> Hub::gather_all() {
  const Deadline deadline = Deadline::after_ms(deadline_ms_);
  while (true) {
    accept_all();
    for (Guest& guest : guests_) {
      if (Result<void> greeted = greet(guest); !greeted) {
        return greeted;
      }
    }
    std::erase_if(guests_, [](const Guest& guest) { return guest.gone; });
    const std::vector<RankId> missing = missing_ranks();
    if (missing.empty()) {
      return judge();
    }
    if (deadline.passed()) {
      return fail(ErrorCode::kTimeout, name_ranks(missing) + " of " +
                                           std::to_string(own_hello_.rank_count) +
                                           " did not come within " + seconds(deadline_ms_));
    }
    wait(deadline);
  }
}

void Hub::accept_all() {
  while (std::optional<Connection> connection = accept_from(listener_.socket)) {
    guests_.push_back({.connection = std::move(*connection), .hello = {}, .part = {}});
  }
}

void Hub::wait(const Deadline& deadline) {
  std::vector<pollfd> watched;
  watched.reserve(guests_.size() + 1);
  for (const Guest& guest : guests_) {
    watched.push_back({.fd = guest.connection.descriptor(), .events = POLLIN, .revents = 0});
  }
  watched.push_back({.fd = listener_.socket.get(), .events = POLLIN, .revents = 0});
  ::poll(watched.data(), watched.size(), deadline.left_ms());
}

// Whoever goes away without having said who he was is nobody: a port scanner, a health check.
Result<void> Hub::greet(Guest& guest) {
  const bool open = guest.connection.take_in();
  if (!guest.hello) {
    const std::optional<Frame> frame = guest.connection.next_frame();
    if (frame && frame->kind == FrameKind::kHello) {
      if (std::optional<Hello> hello = decode_hello(frame->body)) {
        return admit(guest, std::move(*hello));
      }
    }
    guest.gone = !open || frame.has_value();
    return {};
  }
  if (!open) {
    return fail(ErrorCode::kPeerFailed, was_lost(guest.hello->member.ranks) + " during start-up (" +
                                            place_of(guest.hello->member) + ")");
  }
  return {};
}

Result<void> Hub::admit(Guest& guest, Hello hello) {
  const std::string who = place_of(hello.member);
  if (hello.protocol != kProtocol) {
    return fail(ErrorCode::kInvalidConfig,
                "a process runs another version of eplb: it speaks protocol " +
                    std::to_string(hello.protocol) + ", rank 0 speaks " +
                    std::to_string(kProtocol));
  }
  if (hello.run_id != own_hello_.run_id) {
    const Error error = fail(ErrorCode::kInvalidArgument,
                             "the rendezvous belongs to another run (" + own_hello_.run_id +
                                 "): this process is of run " + hello.run_id)
                            .value();
    // It alone is told: whether it hears it is its own affair.
    std::ignore = guest.connection.send(FrameKind::kRefused, encode_error(error),
                                        Deadline::after_ms(kTellMs));
    guest.gone = true;
    return {};
  }
  if (hello.rank_count != own_hello_.rank_count) {
    return fail(ErrorCode::kInvalidConfig,
                "a process (" + who + ") counts " + std::to_string(hello.rank_count) +
                    " ranks, rank 0 counts " + std::to_string(own_hello_.rank_count));
  }
  if (!are_ranks_of(hello.member.ranks, hello.rank_count)) {
    return fail(ErrorCode::kInvalidArgument,
                "a process (" + who + ") must hold at least one rank, each once, from 0 to " +
                    std::to_string(hello.rank_count - 1) + ": it holds " +
                    name_ranks(hello.member.ranks));
  }
  const auto holds_one_of = [&](const Member& member) {
    return std::ranges::find_first_of(member.ranks, hello.member.ranks);
  };
  std::vector<const Member*> present{&own_hello_.member};
  for (const Guest& other : guests_) {
    if (other.hello) {
      present.push_back(&other.hello->member);
    }
  }
  for (const Member* member : present) {
    if (const auto twice = holds_one_of(*member); twice != member->ranks.end()) {
      return fail(ErrorCode::kInvalidArgument,
                  "rank " + std::to_string(twice->value) +
                      " is claimed by two processes: " + place_of(*member) + " and " + who);
    }
  }
  guest.hello = std::move(hello);
  return {};
}

std::vector<RankId> Hub::missing_ranks() const {
  std::vector<bool> here(static_cast<std::size_t>(own_hello_.rank_count), false);
  const auto tick = [&](const Member& member) {
    for (const RankId rank : member.ranks) {
      here[rank.index()] = true;
    }
  };
  tick(own_hello_.member);
  for (const Guest& guest : guests_) {
    if (guest.hello) {
      tick(guest.hello->member);
    }
  }
  std::vector<RankId> missing;
  for (std::int32_t rank = 0; rank < own_hello_.rank_count; ++rank) {
    if (!here[static_cast<std::size_t>(rank)]) {
      missing.push_back(RankId{rank});
    }
  }
  return missing;
}

// All have come: whoever was started otherwise than rank 0 is named.
Result<void> Hub::judge() const {
  std::vector<RankId> other_version;
  std::vector<RankId> other_settings;
  for (const Guest& guest : guests_) {
    if (!guest.hello) {
      continue;
    }
    const std::vector<RankId>& ranks = guest.hello->member.ranks;
    if (guest.hello->version != own_hello_.version) {
      other_version.insert(other_version.end(), ranks.begin(), ranks.end());
    }
    if (guest.hello->settings_digest != own_hello_.settings_digest) {
      other_settings.insert(other_settings.end(), ranks.begin(), ranks.end());
    }
  }
  std::ranges::sort(other_version);
  std::ranges::sort(other_settings);
  if (!other_version.empty()) {
    return fail(ErrorCode::kInvalidConfig, "another version of eplb than rank 0's (" +
                                               own_hello_.version + ") is run by " +
                                               name_ranks(other_version));
  }
  if (!other_settings.empty()) {
    return fail(
        ErrorCode::kInvalidConfig,
        "a configuration that differs from rank 0's was given to " + name_ranks(other_settings));
  }
  return {};
}

Result<void> Hub::welcome() {
  listener_ = {};
  std::erase_if(guests_, [](const Guest& guest) { return !guest.hello.has_value(); });
  std::ranges::sort(guests_, {}, [](const Guest& guest) { return guest.hello->member.ranks[0]; });
  members_.push_back(own_hello_.member);
  for (const Guest& guest : guests_) {
    members_.push_back(guest.hello->member);
  }
  const Bytes roster = encode_members(members_);
  for (Guest& guest : guests_) {
    if (!guest.connection.send(FrameKind::kRoster, roster, Deadline::after_ms(kTellMs))) {
      const Error error =
          fail(ErrorCode::kPeerFailed, was_lost(guest.hello->member.ranks) + " during start-up")
              .value();
      refuse_all(error);
      return tl::unexpected(error);
    }
  }
  return {};
}

void Hub::refuse_all(const Error& error) {
  const Bytes told = encode_error(error);
  for (Guest& guest : guests_) {
    // Whoever cannot be told has gone, which he knows best himself.
    std::ignore = guest.connection.send(FrameKind::kRefused, told, Deadline::after_ms(kTellMs));
  }
  guests_.clear();
}

// Processes of one run come within moments of each other; one that found nobody would try for long.
void Hub::refuse_latecomers(const Error& error) {
  constexpr std::int64_t kLateMs = 500;
  const Deadline deadline = Deadline::after_ms(std::min(kLateMs, deadline_ms_));
  while (!deadline.passed()) {
    wait(deadline);
    accept_all();
    refuse_all(error);
  }
}

Result<std::vector<Bytes>> Hub::exchange(std::span<const std::byte> mine,
                                         std::int64_t deadline_ms) {
  if (Result<void> came = collect(deadline_ms); !came) {
    refuse_all(came.error());
    return tl::unexpected(came.error());
  }
  std::vector<Bytes> parts;
  parts.reserve(guests_.size() + 1);
  parts.emplace_back(mine.begin(), mine.end());
  for (Guest& guest : guests_) {
    parts.push_back(std::move(*guest.part));
    guest.part.reset();
  }
  const Bytes gathered = encode_parts(parts);
  for (Guest& guest : guests_) {
    if (!guest.connection.send(FrameKind::kGather, gathered, Deadline::after_ms(deadline_ms))) {
      return fail(ErrorCode::kPeerFailed, was_lost(guest.hello->member.ranks));
    }
  }
  return parts;
}

Result<void> Hub::collect(std::int64_t deadline_ms) {
  if (guests_.size() + 1 != members_.size()) {
    return fail(ErrorCode::kPeerFailed, "the rendezvous has ended: an exchange failed before");
  }
  const Deadline deadline = Deadline::after_ms(deadline_ms);
  while (true) {
    std::vector<RankId> missing;
    for (Guest& guest : guests_) {
      const std::vector<RankId>& ranks = guest.hello->member.ranks;
      const bool open = guest.part.has_value() || guest.connection.take_in();
      if (!guest.part) {
        if (std::optional<Frame> frame = guest.connection.next_frame()) {
          guest.part = std::move(frame->body);
        } else if (!open) {
          return fail(ErrorCode::kPeerFailed, was_lost(ranks));
        } else {
          missing.insert(missing.end(), ranks.begin(), ranks.end());
        }
      }
    }
    if (missing.empty()) {
      return {};
    }
    if (deadline.passed()) {
      return fail(ErrorCode::kTimeout, name_ranks(missing) +
                                           " gave nothing to an exchange of all within " +
                                           seconds(deadline_ms));
    }
    std::vector<pollfd> watched;
    for (const Guest& guest : guests_) {
      if (!guest.part) {
        watched.push_back({.fd = guest.connection.descriptor(), .events = POLLIN, .revents = 0});
      }
    }
    ::poll(watched.data(), watched.size(), deadline.left_ms());
  }
}

}  // namespace eplb::group
