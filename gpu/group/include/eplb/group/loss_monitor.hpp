#pragma once

#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "eplb/core/ids.hpp"
#include "eplb/core/result.hpp"
#include "eplb/group/board.hpp"
#include "eplb/group/descriptor.hpp"

namespace eplb::group {

/// Sleeps until a process of this host ends, and ends the group if that process has not said
/// goodbye: FailureCause::kRankLost, with the lowest of its ranks. Every process watches all
/// others, so that it does not matter which is gone.
class LossMonitor {
 public:
  struct Peer {
    std::int64_t pid = 0;
    std::vector<RankId> ranks;  ///< Ascending.
    /// It carries this board's records to other hosts: once it is gone nobody can be asked, and its
    /// end is decided here, as its other hosts decide it for themselves.
    bool carries_board = false;
  };

  /// Peers that are gone already count as lost. kUnsupported if the system cannot watch processes.
  /// The board must outlive it.
  [[nodiscard]] static Result<std::unique_ptr<LossMonitor>> watch(Board& board,
                                                                  std::vector<Peer> peers);

  ~LossMonitor();
  LossMonitor(const LossMonitor&) = delete;
  LossMonitor& operator=(const LossMonitor&) = delete;
  LossMonitor(LossMonitor&&) = delete;
  LossMonitor& operator=(LossMonitor&&) = delete;

 private:
  struct Watched {
    Peer peer;
    Descriptor process;
  };

  LossMonitor(Board& board, std::vector<Watched> watched, Descriptor stop);

  void run();
  void note_end(const Peer& peer);

  Board& board_;
  std::vector<Watched> watched_;
  Descriptor stop_;
  std::thread thread_;
};

}  // namespace eplb::group
