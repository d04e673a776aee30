#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "board_layout.hpp"
#include "board_writer.hpp"
#include "connection.hpp"
#include "eplb/group/board.hpp"
#include "eplb/group/descriptor.hpp"

namespace eplb::group {

/// Makes the boards of several hosts one, over TCP: what local ranks write to this board it writes
/// to all others, and what comes from there to this one. The hosts form a star round the one with
/// rank 0, whose board also decides which failure was first. Two threads, both of which sleep while
/// there is nothing to carry.
class Bridge {
 public:
  /// Another host, or the star's centre.
  struct Link {
    Connection connection;
    std::vector<RankId> process_ranks;  ///< Of the process at its other end.
  };

  /// `local_ranks` are the board's; the board must outlive it.
  Bridge(Board& board, std::vector<Link> links);

  /// Carries what is there to carry, then closes the links.
  ~Bridge();
  Bridge(const Bridge&) = delete;
  Bridge& operator=(const Bridge&) = delete;
  Bridge(Bridge&&) = delete;
  Bridge& operator=(Bridge&&) = delete;

 private:
  /// A local rank's records as far as they were carried.
  struct Carried {
    explicit Carried(StatusLog status_log) : log(status_log) {}

    StatusLog log;
    std::array<std::uint64_t, 2> retired{};
    std::array<std::int64_t, kSumKindCount> sums_below{};
    std::int64_t step = 0;
    std::int64_t heard_ns = 0;
    bool left = false;
  };

  struct GuardedLink {
    explicit GuardedLink(Link the_link) : link(std::move(the_link)) {}

    Link link;
    std::mutex sending;  ///< Both threads send.
    bool open = true;    ///< Of the receiving thread alone.
  };

  void run_sender();
  void send_news();
  void send_news_of(RankId rank, Carried& carried);
  void send_sums_of(RankId rank, env::SumKey::Kind kind, Carried& carried);
  void send_failures();
  void send_to_all(FrameKind kind, std::span<const std::byte> body,
                   const GuardedLink* except = nullptr);

  void run_receiver();
  void receive(GuardedLink& link);
  void apply(const Frame& frame);
  void note_end_of(GuardedLink& link);

  Board& board_;
  std::vector<std::unique_ptr<GuardedLink>> links_;
  std::vector<std::optional<Carried>> carried_;      ///< By rank; none for those of other hosts.
  std::vector<std::optional<BoardWriter>> writers_;  ///< By rank; none for those of this host.
  bool told_end_ = false;
  bool told_proposal_ = false;
  std::atomic<bool> stopping_ = false;
  Descriptor stop_;
  std::thread sender_;
  std::thread receiver_;
};

}  // namespace eplb::group
