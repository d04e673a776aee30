#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "eplb/core/env/transport.hpp"
#include "host_rows.hpp"
#include "worker.hpp"

namespace eplb::test {

/// Carries rows between the ranks of a group, each rank's on a thread of its own.
class HostWire {
 public:
  struct Options {
    env::TransferSide side = env::TransferSide::kSender;
    std::int32_t rank_count = 1;
    std::uint64_t seed = 1;
  };

  HostWire(HostRows& rows, const Options& options);
  HostWire(const HostWire&) = delete;
  HostWire& operator=(const HostWire&) = delete;
  HostWire(HostWire&&) = delete;
  HostWire& operator=(HostWire&&) = delete;
  ~HostWire();

  /// Of one rank; outlived by the wire.
  [[nodiscard]] std::unique_ptr<env::Transport> transport(RankId rank);

  /// From now on rows of this rank fail to leave it; none: all arrive.
  void break_sender(std::optional<RankId> rank);

 private:
  class Transport;

  /// A rank's wish to have a row carried, of one ticket.
  struct End {
    RankId rank;
    std::size_t batch;
  };

  struct Waiting {
    RowCopy copy;
    End end;
  };

  struct Batch {
    std::size_t under_way;
    bool failed;
  };

  [[nodiscard]] env::Ticket start(RankId rank, std::span<const RowCopy> copies);
  [[nodiscard]] env::Completion poll(RankId rank, env::Ticket ticket) const;
  void cancel(RankId rank);

  void order(const RowCopy& copy, End end);
  void carry(const RowCopy& copy, std::vector<End> ends);
  void finish(const std::vector<End>& ends, bool failed);

  HostRows& rows_;
  Options options_;
  mutable std::mutex mutex_;
  std::vector<std::deque<Batch>> batches_;  ///< By rank, and ticket from 1.
  std::vector<Waiting> waiting_;            ///< Halves of pairs.
  std::optional<RankId> broken_sender_;
  std::vector<Pauses> pauses_;                    ///< By rank, its worker's.
  std::vector<std::unique_ptr<Worker>> workers_;  ///< By rank; last, since they use all of it.
};

}  // namespace eplb::test
