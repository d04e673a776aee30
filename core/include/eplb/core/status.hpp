#pragma once

#include <compare>
#include <cstdint>

#include "eplb/core/failure.hpp"
#include "eplb/core/ids.hpp"

namespace eplb {

/// What statuses are compared by. A rearrangement counts its rounds from 0; a round is a step in
/// async mode, a pool-full in sync mode.
struct RoundKey {
  enum class Channel : std::uint8_t {
    kAgreement,  ///< Decided on by all ranks alike.
    kBarrier,    ///< Waited for before and after an execute (Handshake::kBarriers).
  };

  Channel channel = Channel::kAgreement;
  std::int64_t rearrangement = 0;  ///< 0 is the start-up.
  std::int64_t round = 0;

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 misreads a defaulted comparison.
  friend constexpr auto operator<=>(const RoundKey&, const RoundKey&) = default;
};

/// How one rank's migration stood when it posted. Flat, since it travels.
struct Status {
  RankId rank;
  RoundKey key;
  MigrationState state = MigrationState::kIdle;
  std::uint64_t digest = 0;         ///< Of the plan while moving; of the settings at start-up.
  std::int32_t landed_layers = 0;   ///< Leading layers of the plan whose part of this rank is done.
  std::int32_t retired_layers = 0;  ///< Leading layers whose landing rows it has emptied.
  bool drained = false;             ///< While aborting: all that it had started has ended.
  Failure failure = {};             ///< Asks all ranks to abort.

  friend bool operator==(const Status&, const Status&) = default;
};

}  // namespace eplb
