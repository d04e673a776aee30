#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "eplb/core/ids.hpp"

namespace eplb {

/// Where a rank's migration stands.
enum class MigrationState : std::uint8_t {
  kStarting,  ///< Waits until all ranks are there, with the same settings.
  kIdle,
  kAggregating,  ///< Sums the window over ranks.
  kPlanning,
  kMoving,    ///< Layers are sent, land, are committed and retire.
  kAborting,  ///< Waits until what was started has ended, on all ranks.
  kStopped,   ///< The group has ended.
};

[[nodiscard]] std::string_view to_string(MigrationState state);

enum class FailureCause : std::uint8_t {
  kNone,
  kTransferFailed,  ///< Rows did not get across.
  kCopyFailed,      ///< A copy of a commit: the slot's content is unknown.
  kPlanFailed,      ///< The policy refused.
  kPlansDiffer,     ///< Ranks made different plans of the same load.
  kSettingsDiffer,  ///< Ranks were started with different settings.
  kDeadline,        ///< A rank's own work took too long.
  kStalled,         ///< A rank goes on stepping, but its migration does not.
  kStatusMissing,   ///< A rank has stopped stepping.
  kRankLost,
  kMemory,   ///< A rank could not reserve its regions.
  kDrained,  ///< Asked for, to sleep or to scale.
};

[[nodiscard]] std::string_view to_string(FailureCause cause);

/// Why a migration or a group has ended: small and flat, since it travels between ranks.
struct Failure {
  FailureCause cause = FailureCause::kNone;
  RankId rank{-1};                               ///< Whose fault it is; not always who noticed.
  MigrationState state = MigrationState::kIdle;  ///< Where it stood; not known of a lost rank.
  LayerId layer{-1};                             ///< The layer it was about; -1 if none.

  [[nodiscard]] explicit operator bool() const { return cause != FailureCause::kNone; }

  friend bool operator==(const Failure&, const Failure&) = default;
};

/// A sentence that names the rank and, as far as they are known, its state and the layer.
[[nodiscard]] std::string describe(const Failure& failure);

}  // namespace eplb
