#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "eplb/core/ids.hpp"
#include "eplb/core/result.hpp"

namespace eplb::group {

/// Says which processes can share memory and see each other's end: those of one boot of one machine
/// in one process namespace, however many containers call themselves alike.
[[nodiscard]] std::string host_identity();

struct RendezvousOptions {
  std::string host = "127.0.0.1";  ///< Where the process that holds rank 0 listens.
  std::uint16_t port = 0;
  std::string run_id;  ///< Keeps a process of another run from being taken for one of this.
  std::int32_t rank_count = 1;        ///< Of the EP group.
  std::vector<RankId> ranks;          ///< That this process holds, as threads if several.
  std::string version;                ///< Of the program; must be equal in all.
  std::uint64_t settings_digest = 0;  ///< Of the configuration; must be equal in all.
  std::string identity = host_identity();
  std::vector<std::byte> payload;     ///< For the others, not looked into.
  std::int64_t deadline_ms = 30'000;  ///< For all to come.
};

/// What a process has told the others of itself.
struct Member {
  std::vector<RankId> ranks;  ///< Ascending.
  std::int64_t pid = 0;
  std::string host;      ///< A name to read.
  std::string identity;  ///< As RendezvousOptions.
  std::string user;
  std::vector<std::byte> payload;
};

/// How the processes of a run find each other: the one that holds rank 0 listens, all others
/// connect and stay connected. Used by one thread at a time.
class Rendezvous {
 public:
  /// Waits until every rank has come. All processes get the same error: kTimeout names the ranks
  /// that did not come, kInvalidConfig those whose configuration or version differs,
  /// kInvalidArgument a rank that two processes claim. kResourceExhausted if the port is in use,
  /// which only the process that would listen can know; the others then find nobody there.
  [[nodiscard]] static Result<std::unique_ptr<Rendezvous>> join(const RendezvousOptions& options);

  virtual ~Rendezvous() = default;
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;
  Rendezvous(Rendezvous&&) = delete;
  Rendezvous& operator=(Rendezvous&&) = delete;

  /// All processes, by their lowest rank.
  [[nodiscard]] const std::vector<Member>& members() const { return members_; }

  /// Which of them this one is.
  [[nodiscard]] std::size_t own_index() const { return own_index_; }

  [[nodiscard]] const Member& own() const { return members_[own_index_]; }

  /// Gives `mine` to all and gets theirs, one a member. Every process makes the same exchanges in
  /// the same order, at start-up or whenever all are known to be about to. kPeerFailed and kTimeout
  /// name a rank, the same in all processes but one that is itself cut off.
  [[nodiscard]] virtual Result<std::vector<std::vector<std::byte>>> exchange(
      std::span<const std::byte> mine, std::int64_t deadline_ms) = 0;

  /// Returns once all have called it.
  [[nodiscard]] Result<void> barrier(std::int64_t deadline_ms);

 protected:
  Rendezvous() = default;

  std::vector<Member> members_;
  std::size_t own_index_ = 0;
};

}  // namespace eplb::group
