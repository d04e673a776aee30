#include "eplb/core/failure.hpp"

namespace eplb {

std::string_view to_string(MigrationState state) {
  switch (state) {
    case MigrationState::kStarting:
      return "starting";
    case MigrationState::kIdle:
      return "idle";
    case MigrationState::kAggregating:
      return "aggregating";
    case MigrationState::kPlanning:
      return "planning";
    case MigrationState::kMoving:
      return "moving";
    case MigrationState::kAborting:
      return "aborting";
    case MigrationState::kStopped:
      return "stopped";
  }
  return "unknown";
}

std::string_view to_string(FailureCause cause) {
  switch (cause) {
    case FailureCause::kNone:
      return "no failure";
    case FailureCause::kTransferFailed:
      return "a transfer failed";
    case FailureCause::kCopyFailed:
      return "a copy into its weights failed";
    case FailureCause::kPlanFailed:
      return "its policy refused";
    case FailureCause::kPlansDiffer:
      return "its plan differs from the other ranks'";
    case FailureCause::kSettingsDiffer:
      return "its settings differ from the other ranks'";
    case FailureCause::kDeadline:
      return "its deadline has passed";
    case FailureCause::kStalled:
      return "its migration makes no progress though it steps";
    case FailureCause::kStatusMissing:
      return "it has stopped posting its status";
    case FailureCause::kRankLost:
      return "it was lost";
    case FailureCause::kMemory:
      return "it could not reserve its memory";
    case FailureCause::kDrained:
      return "the migration was drained on request";
  }
  return "unknown";
}

std::string describe(const Failure& failure) {
  std::string text = "rank " + std::to_string(failure.rank.value);
  if (failure.cause != FailureCause::kRankLost) {
    text += ", ";
    text += to_string(failure.state);
  }
  if (failure.layer.value >= 0) {
    text += " (layer " + std::to_string(failure.layer.value) + ")";
  }
  text += ": ";
  text += to_string(failure.cause);
  return text;
}

}  // namespace eplb
