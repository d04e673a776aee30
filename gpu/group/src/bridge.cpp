#include "bridge.hpp"

#include <poll.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "process.hpp"
#include "status_words.hpp"
#include "wire.hpp"

namespace eplb::group {
namespace {

constexpr std::array kKinds{env::SumKey::Kind::kWindow, env::SumKey::Kind::kBalancedness};

/// A host that takes nothing for so long is noticed as lost by its own silence.
constexpr std::int64_t kSendMs = 5'000;

}  // namespace

Bridge::Bridge(Board& board, std::vector<Link> links) : board_(board), stop_(make_wake_up()) {
  const auto rank_count = static_cast<std::size_t>(board.options().rank_count);
  carried_.resize(rank_count);
  writers_.resize(rank_count);
  for (std::int32_t number = 0; number < board.options().rank_count; ++number) {
    const RankId rank{number};
    if (std::ranges::count(board.options().local_ranks, rank) > 0) {
      carried_[rank.index()].emplace(StatusLog(board, rank));
    } else {
      writers_[rank.index()].emplace(board, rank);
    }
  }
  links_.reserve(links.size());
  for (Link& link : links) {
    links_.push_back(std::make_unique<GuardedLink>(std::move(link)));
  }
  sender_ = std::thread([this] { run_sender(); });
  receiver_ = std::thread([this] { run_receiver(); });
}

Bridge::~Bridge() {
  stopping_.store(true, std::memory_order_release);
  board_.announce();
  sender_.join();
  wake_up(stop_);
  receiver_.join();
}

void Bridge::run_sender() {
  constexpr std::int64_t kSleepMs = 100;
  while (true) {
    // Both are read before the records: what is written later is announced later.
    const bool last = stopping_.load(std::memory_order_acquire);
    const std::uint32_t seen = board_.announcements();
    send_news();
    if (last) {
      return;
    }
    board_.wait_for_announcement(seen, kSleepMs);
  }
}

void Bridge::send_news() {
  send_failures();
  for (std::size_t rank = 0; rank < carried_.size(); ++rank) {
    if (carried_[rank]) {
      send_news_of(RankId{static_cast<std::int32_t>(rank)}, *carried_[rank]);
    }
  }
  // As a reader of sums the bridge is past what it has carried of every rank.
  for (const env::SumKey::Kind kind : kKinds) {
    const auto number = static_cast<std::size_t>(kind);
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const std::optional<Carried>& carried : carried_) {
      least = carried ? std::min(least, carried->sums_below[number]) : least;
    }
    board_.reader_record(board_.options().rank_count)
        .sums_taken_below[number]
        .store(least, std::memory_order_release);
  }
}

void Bridge::send_news_of(RankId rank, Carried& carried) {
  const RankRecord& record = board_.rank_record(rank);
  const std::int64_t heard_ns = record.heard_ns.load(std::memory_order_relaxed);
  bool told = false;
  while (const std::optional<Status> status = carried.log.try_take()) {
    ByteWriter writer;
    writer.put(rank.value);
    for (const std::uint64_t word : pack(*status)) {
      writer.put(word);
    }
    send_to_all(FrameKind::kStatus, writer.bytes());
    told = true;
  }
  for (std::size_t parity = 0; parity < carried.retired.size(); ++parity) {
    const std::uint64_t word = record.retired[parity].load(std::memory_order_acquire);
    if (std::exchange(carried.retired[parity], word) != word) {
      ByteWriter writer;
      writer.put(rank.value);
      writer.put(word);
      send_to_all(FrameKind::kRetired, writer.bytes());
      told = true;
    }
  }
  for (const env::SumKey::Kind kind : kKinds) {
    send_sums_of(rank, kind, carried);
  }
  if (const std::int64_t step = board_.step_of(rank); std::exchange(carried.step, step) != step) {
    ByteWriter writer;
    writer.put(rank.value);
    writer.put(step);
    send_to_all(FrameKind::kStep, writer.bytes());
  }
  ByteWriter name;
  name.put(rank.value);
  if (std::exchange(carried.heard_ns, heard_ns) != heard_ns && !told) {
    send_to_all(FrameKind::kHeartbeat, name.bytes());
  }
  if (!carried.left && board_.has_left(rank)) {
    carried.left = true;
    send_to_all(FrameKind::kLeft, name.bytes());
  }
}

// A rank starts sums of a kind in ascending order, so that all below the last one carried are done.
void Bridge::send_sums_of(RankId rank, env::SumKey::Kind kind, Carried& carried) {
  std::int64_t& below = carried.sums_below[static_cast<std::size_t>(kind)];
  while (true) {
    std::int64_t index = std::numeric_limits<std::int64_t>::max();
    std::int32_t slot = -1;
    for (std::int32_t number = 0; number < Board::slot_count(kind); ++number) {
      const std::int64_t key =
          board_.sum_slot(rank, kind, number).key.load(std::memory_order_acquire);
      if (key > below && key - 1 < index) {
        index = key - 1;
        slot = number;
      }
    }
    if (slot < 0) {
      return;
    }
    const auto count = static_cast<std::size_t>(board_.sum_slot(rank, kind, slot).value_count);
    const std::span<const double> values = board_.sum_values(rank, kind, slot).first(count);
    ByteWriter writer;
    writer.put(rank.value);
    writer.put(kind);
    writer.put(index);
    writer.put_all(values);
    send_to_all(FrameKind::kSum, writer.bytes());
    below = index + 1;
  }
}

void Bridge::send_failures() {
  ByteWriter writer;
  if (const std::optional<Failure> failure = board_.failure(); failure && !told_end_) {
    told_end_ = true;
    writer.put(pack(*failure));
    send_to_all(FrameKind::kEnd, writer.bytes());
  } else if (const std::optional<Failure> proposal = board_.proposal();
             proposal && !told_proposal_) {
    told_proposal_ = true;
    writer.put(pack(*proposal));
    send_to_all(FrameKind::kProposal, writer.bytes());
  }
}

// A link that takes nothing is as good as gone; the receiving thread will see its end.
void Bridge::send_to_all(FrameKind kind, std::span<const std::byte> body,
                         const GuardedLink* except) {
  for (const std::unique_ptr<GuardedLink>& link : links_) {
    if (link.get() == except) {
      continue;
    }
    const std::scoped_lock lock(link->sending);
    if (!link->link.connection.send(kind, body, Deadline::after_ms(kSendMs))) {
      link->link.connection.shut_down();
    }
  }
}

void Bridge::run_receiver() {
  for (const std::unique_ptr<GuardedLink>& link : links_) {
    receive(*link);  // What came right behind the introduction is here already.
  }
  while (true) {
    std::vector<pollfd> waiting;
    waiting.reserve(links_.size() + 1);
    for (const std::unique_ptr<GuardedLink>& link : links_) {
      // A negative descriptor is one that poll passes over.
      waiting.push_back({.fd = link->open ? link->link.connection.descriptor() : -1,
                         .events = POLLIN,
                         .revents = 0});
    }
    waiting.push_back({.fd = stop_.get(), .events = POLLIN, .revents = 0});
    const bool keeps = std::ranges::any_of(
        writers_, [](const auto& writer) { return writer && writer->keeps_sums(); });
    const int ready = ::poll(waiting.data(), waiting.size(), keeps ? 1 : -1);
    for (std::optional<BoardWriter>& writer : writers_) {
      if (writer && keeps) {
        writer->write_kept_sums();
      }
    }
    if (ready <= 0) {
      continue;
    }
    for (std::size_t index = 0; index < links_.size(); ++index) {
      if (waiting[index].revents != 0) {
        receive(*links_[index]);
      }
    }
    if (waiting.back().revents != 0) {
      return;
    }
  }
}

void Bridge::receive(GuardedLink& link) {
  const bool open = link.link.connection.take_in();
  while (const std::optional<Frame> frame = link.link.connection.next_frame()) {
    apply(*frame);
    const bool for_all = frame->kind != FrameKind::kProposal && frame->kind != FrameKind::kEnd;
    if (for_all && links_.size() > 1) {
      send_to_all(frame->kind, frame->body, &link);
    }
  }
  if (!open) {
    link.open = false;
    note_end_of(link);
  }
}

void Bridge::apply(const Frame& frame) {
  ByteReader reader(frame.body);
  if (frame.kind == FrameKind::kEnd) {
    board_.decide(unpack_failure(reader.get<std::uint64_t>()));
    return;
  }
  if (frame.kind == FrameKind::kProposal) {
    board_.end(unpack_failure(reader.get<std::uint64_t>()));
    return;
  }
  const RankId rank{reader.get<std::int32_t>()};
  if (rank.value < 0 || rank.index() >= writers_.size() || !writers_[rank.index()]) {
    return;  // Not one of another host's ranks: nothing that a bridge says.
  }
  BoardWriter& writer = *writers_[rank.index()];
  if (frame.kind == FrameKind::kStatus) {
    StatusWords words{};
    for (std::uint64_t& word : words) {
      word = reader.get<std::uint64_t>();
    }
    writer.post(unpack(rank, words));
  } else if (frame.kind == FrameKind::kRetired) {
    const auto word = reader.get<std::uint64_t>();
    writer.post_retired(retired_rearrangement(word), retired_layers(word));
  } else if (frame.kind == FrameKind::kHeartbeat) {
    writer.post_heartbeat();
  } else if (frame.kind == FrameKind::kSum) {
    const auto kind = reader.get<env::SumKey::Kind>();
    const auto index = reader.get<std::int64_t>();
    writer.start_sum({.kind = kind, .index = index}, reader.get_all<double>());
  } else if (frame.kind == FrameKind::kStep) {
    board_.come_to_step(rank, reader.get<std::int64_t>());
  } else if (frame.kind == FrameKind::kLeft) {
    board_.leave(rank);
  }
}

// The process at the other end is gone, and with it the way to its host. Where this board decides,
// that is the group's end; where it does not, nobody is left who could be asked.
void Bridge::note_end_of(GuardedLink& link) {
  const std::vector<RankId>& ranks = link.link.process_ranks;
  const auto lost =
      std::ranges::find_if(ranks, [this](RankId rank) { return !board_.has_left(rank); });
  if (lost != ranks.end()) {
    board_.decide({.cause = FailureCause::kRankLost, .rank = *lost});
    board_.announce();
  }
}

}  // namespace eplb::group
