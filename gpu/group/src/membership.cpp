#include "eplb/group/membership.hpp"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "bridge.hpp"
#include "connection.hpp"
#include "deadline.hpp"
#include "hello.hpp"
#include "wire.hpp"

namespace eplb::group {
namespace {

/// For an exchange of processes that are known to have come.
constexpr std::int64_t kExchangeMs = 10'000;

std::vector<RankId> all_ranks(std::int32_t rank_count) {
  std::vector<RankId> ranks;
  ranks.reserve(static_cast<std::size_t>(std::max(rank_count, 0)));
  for (std::int32_t rank = 0; rank < rank_count; ++rank) {
    ranks.push_back(RankId{rank});
  }
  return ranks;
}

/// The processes of one host, as indices into the members, ascending. The first owns its board and
/// carries it to other hosts.
struct Host {
  std::vector<std::size_t> members;
};

/// By their lowest rank, so that the first host is that of rank 0.
std::vector<Host> hosts_of(const std::vector<Member>& members) {
  std::vector<Host> hosts;
  for (std::size_t index = 0; index < members.size(); ++index) {
    const auto same = std::ranges::find_if(hosts, [&](const Host& host) {
      return members[host.members.front()].identity == members[index].identity;
    });
    Host& host = same == hosts.end() ? hosts.emplace_back() : *same;
    host.members.push_back(index);
  }
  return hosts;
}

/// What the first process of a host tells the others before the board is theirs.
struct BoardOffer {
  std::int32_t descriptor = -1;
  std::uint16_t link_port = 0;  ///< Of the first host's, where bridges connect; 0 if none do.
};

/// What a process gives to an exchange that all must pass: what it offers, or why it cannot go on.
Bytes encode_outcome(const Result<BoardOffer>& outcome) {
  ByteWriter writer;
  writer.put_text(outcome ? "" : outcome.error().message);
  writer.put(outcome ? ErrorCode::kInternal : outcome.error().code);
  writer.put(outcome ? outcome->descriptor : -1);
  writer.put(outcome ? outcome->link_port : std::uint16_t{0});
  return writer.bytes();
}

Result<BoardOffer> decode_outcome(const Bytes& bytes, const Member& member) {
  ByteReader reader(bytes);
  const std::string problem = reader.get_text();
  const auto code = reader.get<ErrorCode>();
  if (!problem.empty()) {
    return fail(code, name_ranks(member.ranks) + ": " + problem);
  }
  BoardOffer offer;
  offer.descriptor = reader.get<std::int32_t>();
  offer.link_port = reader.get<std::uint16_t>();
  return offer;
}

/// All processes' outcomes; the first that is an error is everyone's.
Result<std::vector<BoardOffer>> agree_on(Rendezvous& rendezvous,
                                         const Result<BoardOffer>& outcome) {
  const Result<std::vector<Bytes>> all = rendezvous.exchange(encode_outcome(outcome), kExchangeMs);
  if (!all) {
    return tl::unexpected(all.error());
  }
  std::vector<BoardOffer> offers;
  offers.reserve(all->size());
  for (std::size_t index = 0; index < all->size(); ++index) {
    const Result<BoardOffer> offer = decode_outcome((*all)[index], rendezvous.members()[index]);
    if (!offer) {
      return tl::unexpected(offer.error());
    }
    offers.push_back(*offer);
  }
  return offers;
}

/// The centre of the star: one link from each other host.
Result<std::vector<Bridge::Link>> accept_links(const Listener& listener,
                                               const std::vector<Member>& members,
                                               std::size_t count) {
  const Deadline deadline = Deadline::after_ms(kExchangeMs);
  std::vector<Bridge::Link> links;
  while (links.size() < count) {
    if (deadline.passed()) {
      return fail(ErrorCode::kTimeout, "not all hosts connected their control plane");
    }
    if (std::optional<Connection> connection = wait_for_connection(listener.socket, deadline)) {
      const Result<Frame> frame = connection->receive(Deadline::after_ms(1'000));
      if (!frame || frame->kind != FrameKind::kLink) {
        continue;
      }
      ByteReader reader(frame->body);
      const auto index = reader.get<std::uint64_t>();
      if (index < members.size()) {
        links.push_back(
            {.connection = std::move(*connection), .process_ranks = members[index].ranks});
      }
    }
  }
  return links;
}

Result<std::vector<Bridge::Link>> connect_link(const Endpoint& endpoint, std::size_t own_index,
                                               const Member& centre) {
  Result<Connection> connection = connect_to(endpoint, Deadline::after_ms(kExchangeMs));
  if (!connection) {
    return tl::unexpected(connection.error());
  }
  ByteWriter writer;
  writer.put(std::uint64_t{own_index});
  if (Result<void> sent =
          connection->send(FrameKind::kLink, writer.bytes(), Deadline::after_ms(kExchangeMs));
      !sent) {
    return tl::unexpected(sent.error());
  }
  std::vector<Bridge::Link> links;
  links.push_back({.connection = std::move(*connection), .process_ranks = centre.ranks});
  return links;
}

/// How the processes of a host come to share a board, and the hosts to be joined.
class Opening {
 public:
  Opening(const RendezvousOptions& options, const SumSizes& sums,
          const std::vector<Member>& members, std::size_t own_index)
      : host_(options.host), members_(members), own_index_(own_index) {
    const std::vector<Host> hosts = hosts_of(members);
    const auto own_host = std::ranges::find_if(hosts, [own_index](const Host& host) {
      return std::ranges::count(host.members, own_index) > 0;
    });
    host_count_ = hosts.size();
    first_ = own_host->members.front();
    board_options_ = {.name = members[own_index].user + ":" + options.run_id,
                      .rank_count = options.rank_count,
                      .sums = sums,
                      .local_ranks = {},
                      .bridged = host_count_ > 1,
                      .decides = own_host == hosts.begin()};
    for (const std::size_t index : own_host->members) {
      const std::vector<RankId>& ranks = members[index].ranks;
      board_options_.local_ranks.insert(board_options_.local_ranks.end(), ranks.begin(),
                                        ranks.end());
    }
  }

  /// What this process has for the others: the first of a host its board, the first of all the
  /// port for the others' bridges.
  [[nodiscard]] Result<BoardOffer> offer() {
    BoardOffer offer;
    if (own_index_ == first_) {
      Result<std::unique_ptr<Board>> made = Board::create(board_options_);
      if (!made) {
        return tl::unexpected(made.error());
      }
      board = std::move(*made);
      offer.descriptor = board->descriptor();
    }
    if (is_centre() && board_options_.bridged) {
      Result<Listener> listening = listen_at({.host = host_, .port = 0});
      if (!listening) {
        return tl::unexpected(listening.error());
      }
      listener_ = std::move(*listening);
      offer.link_port = listener_.port;
    }
    return offer;
  }

  /// Takes what the others have offered.
  [[nodiscard]] Result<void> take_up(const std::vector<BoardOffer>& offers) {
    if (own_index_ != first_) {
      Result<std::unique_ptr<Board>> opened =
          Board::open(board_options_, members_[first_].pid, offers[first_].descriptor);
      if (!opened) {
        return tl::unexpected(opened.error());
      }
      board = std::move(*opened);
    } else if (board_options_.bridged) {
      Result<std::vector<Bridge::Link>> links =
          is_centre() ? accept_links(listener_, members_, host_count_ - 1)
                      : connect_link({.host = host_, .port = offers.front().link_port}, own_index_,
                                     members_.front());
      if (!links) {
        return tl::unexpected(links.error());
      }
      bridge = std::make_unique<Bridge>(*board, std::move(*links));
    }
    return {};
  }

  // In the order in which they need each other.
  std::unique_ptr<Board> board;
  std::unique_ptr<Bridge> bridge;

 private:
  [[nodiscard]] bool is_centre() const { return own_index_ == 0; }

  const std::string& host_;
  const std::vector<Member>& members_;
  std::size_t own_index_;
  std::size_t host_count_ = 1;
  std::size_t first_ = 0;  ///< Member of this host.
  BoardOptions board_options_;
  Listener listener_;
};

}  // namespace

Membership::~Membership() = default;

Result<std::unique_ptr<Membership>> Membership::join(const RendezvousOptions& options,
                                                     const SumSizes& sums) {
  Result<std::unique_ptr<Rendezvous>> rendezvous = Rendezvous::join(options);
  if (!rendezvous) {
    return tl::unexpected(rendezvous.error());
  }
  std::unique_ptr<Membership> membership(new Membership);
  membership->rendezvous_ = std::move(*rendezvous);
  membership->members_ = membership->rendezvous_->members();
  membership->own_index_ = membership->rendezvous_->own_index();
  if (Result<void> opened = membership->open_board(options, sums); !opened) {
    return tl::unexpected(opened.error());
  }
  return membership;
}

Result<std::unique_ptr<Membership>> Membership::alone(std::int32_t rank_count,
                                                      const SumSizes& sums) {
  Result<std::unique_ptr<Board>> board = Board::create({.name = "alone",
                                                        .rank_count = rank_count,
                                                        .sums = sums,
                                                        .local_ranks = all_ranks(rank_count)});
  if (!board) {
    return tl::unexpected(board.error());
  }
  std::unique_ptr<Membership> membership(new Membership);
  RendezvousOptions options;
  options.ranks = all_ranks(rank_count);
  membership->members_.push_back(hello_of(options).member);
  membership->board_ = std::move(*board);
  return membership;
}

// Two exchanges: the first process of each host offers its board, then all say whether they have
// what they need. A process that died between them ends the second one.
Result<void> Membership::open_board(const RendezvousOptions& options, const SumSizes& sums) {
  Opening opening(options, sums, members_, own_index_);
  const Result<std::vector<BoardOffer>> offers = agree_on(*rendezvous_, opening.offer());
  if (!offers) {
    return tl::unexpected(offers.error());
  }
  Result<void> ready = opening.take_up(*offers);
  board_ = std::move(opening.board);
  bridge_ = std::move(opening.bridge);
  if (ready) {
    ready = watch_host();
  }
  const Result<std::vector<BoardOffer>> all_ready =
      agree_on(*rendezvous_, ready.map([] { return BoardOffer{}; }));
  if (!all_ready) {
    return tl::unexpected(all_ready.error());
  }
  return {};
}

Result<void> Membership::watch_host() {
  const std::string& identity = members_[own_index_].identity;
  std::vector<LossMonitor::Peer> peers;
  bool first = true;
  for (std::size_t index = 0; index < members_.size(); ++index) {
    const Member& member = members_[index];
    if (member.identity != identity) {
      continue;
    }
    const bool carries = std::exchange(first, false) && board_->options().bridged;
    if (index != own_index_) {
      peers.push_back({.pid = member.pid, .ranks = member.ranks, .carries_board = carries});
    }
  }
  Result<std::unique_ptr<LossMonitor>> monitor = LossMonitor::watch(*board_, std::move(peers));
  if (!monitor) {
    return tl::unexpected(monitor.error());
  }
  monitor_ = std::move(*monitor);
  return {};
}

Result<std::vector<Bytes>> Membership::exchange(std::span<const std::byte> mine,
                                                std::int64_t deadline_ms) {
  if (rendezvous_ == nullptr) {
    return std::vector<Bytes>{Bytes(mine.begin(), mine.end())};
  }
  return rendezvous_->exchange(mine, deadline_ms);
}

Result<void> Membership::barrier(std::int64_t deadline_ms) {
  return rendezvous_ == nullptr ? Result<void>() : rendezvous_->barrier(deadline_ms);
}

std::unique_ptr<BoardControlPlane> Membership::control_plane(RankId rank) {
  return std::make_unique<BoardControlPlane>(*board_, rank);
}

void Membership::leave(std::int64_t deadline_ms) {
  for (const RankId rank : members_[own_index_].ranks) {
    board_->leave(rank);
  }
  if (bridge_ == nullptr) {
    return;
  }
  // What the others still have to say to each other passes through here.
  const auto all_left = [this] {
    return std::ranges::all_of(all_ranks(board_->options().rank_count),
                               [this](RankId rank) { return board_->has_left(rank); });
  };
  const Deadline deadline = Deadline::after_ms(deadline_ms);
  while (!deadline.passed() && !board_->failure()) {
    const std::uint32_t seen = board_->announcements();
    if (all_left()) {
      break;
    }
    board_->wait_for_announcement(seen, deadline.left_ms(100));
  }
  bridge_.reset();
}

}  // namespace eplb::group
