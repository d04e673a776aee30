#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "eplb/group/membership.hpp"

namespace eplb::test {

/// Far more than anything of these tests takes, so that only what never comes is given up.
inline constexpr std::int64_t kPatienceMs = 20'000;

/// Whether it comes true before the patience ends.
template <typename Condition>
[[nodiscard]] bool eventually(const Condition& condition) {
  for (std::int64_t waited_ms = 0; waited_ms < kPatienceMs; ++waited_ms) {
    if (condition()) {
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

/// A port of this machine that nobody else is given while the object lives.
class FreePort {
 public:
  FreePort();
  ~FreePort();
  FreePort(const FreePort&) = delete;
  FreePort& operator=(const FreePort&) = delete;
  FreePort(FreePort&&) = delete;
  FreePort& operator=(FreePort&&) = delete;

  [[nodiscard]] std::uint16_t number() const { return number_; }

 private:
  int socket_;
  std::uint16_t number_ = 0;
};

/// Calls `of` for each index on a thread of its own, and waits for all.
void run_beside(std::size_t count, const std::function<void(std::size_t)>& of);

/// How a group's ranks are joined; the same must hold for all of them.
enum class Joining : std::uint8_t {
  kThreads,    ///< One process, one mapping of the board.
  kProcesses,  ///< Memberships of their own on one host.
  kHosts,      ///< Memberships that take themselves for different hosts, two ranks each.
};

/// The control planes of a group of which this process has all ranks.
struct JoinedRanks {
  std::vector<std::unique_ptr<group::Membership>> memberships;
  std::vector<std::unique_ptr<group::BoardControlPlane>> planes;  ///< By rank.

  [[nodiscard]] env::ControlPlane& operator[](std::size_t rank) { return *planes[rank]; }
};

[[nodiscard]] JoinedRanks join_ranks(Joining joining, std::int32_t rank_count,
                                     const group::SumSizes& sums);

}  // namespace eplb::test
