#include "eplb/group/loss_monitor.hpp"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "process.hpp"

namespace eplb::group {

Result<std::unique_ptr<LossMonitor>> LossMonitor::watch(Board& board, std::vector<Peer> peers) {
  std::vector<Watched> watched;
  watched.reserve(peers.size());
  for (Peer& peer : peers) {
    Descriptor process = open_process(peer.pid);
    if (!process && errno != ESRCH) {
      return fail(ErrorCode::kUnsupported,
                  "process " + std::to_string(peer.pid) +
                      " cannot be watched: " + std::generic_category().message(errno));
    }
    watched.push_back({.peer = std::move(peer), .process = std::move(process)});
  }
  return std::unique_ptr<LossMonitor>(new LossMonitor(board, std::move(watched), make_wake_up()));
}

LossMonitor::LossMonitor(Board& board, std::vector<Watched> watched, Descriptor stop)
    : board_(board), watched_(std::move(watched)), stop_(std::move(stop)) {
  thread_ = std::thread([this] { run(); });
}

LossMonitor::~LossMonitor() {
  wake_up(stop_);
  thread_.join();
}

void LossMonitor::run() {
  for (const Watched& watched : watched_) {
    if (!watched.process) {
      note_end(watched.peer);
    }
  }
  while (true) {
    std::erase_if(watched_, [](const Watched& watched) { return !watched.process; });
    std::vector<pollfd> waiting;
    waiting.reserve(watched_.size() + 1);
    for (const Watched& watched : watched_) {
      waiting.push_back({.fd = watched.process.get(), .events = POLLIN, .revents = 0});
    }
    waiting.push_back({.fd = stop_.get(), .events = POLLIN, .revents = 0});
    if (::poll(waiting.data(), waiting.size(), -1) < 0) {
      continue;  // A signal.
    }
    if (waiting.back().revents != 0) {
      return;
    }
    for (std::size_t index = 0; index < watched_.size(); ++index) {
      if (waiting[index].revents != 0) {
        note_end(watched_[index].peer);
        watched_[index].process.reset();
      }
    }
  }
}

void LossMonitor::note_end(const Peer& peer) {
  const auto lost =
      std::ranges::find_if(peer.ranks, [this](RankId rank) { return !board_.has_left(rank); });
  if (lost == peer.ranks.end()) {
    return;
  }
  const Failure failure{.cause = FailureCause::kRankLost, .rank = *lost};
  if (peer.carries_board) {
    board_.decide(failure);
  } else {
    board_.end(failure);
  }
}

}  // namespace eplb::group
