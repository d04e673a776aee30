#include "trial_fault_points.hpp"

#include "eplb/core/digest.hpp"

namespace eplb::sim {

bool TrialFaultPoints::fires(env::FaultPoint point) {
  // A deadline that is cut short ends a whole rearrangement; the others cost a moment.
  const std::uint64_t odds = point == env::FaultPoint::kShortDeadline ? 400 : 4;
  return active(point) && random_.below(odds) == 0;
}

bool TrialFaultPoints::fires_alike(env::FaultPoint point, std::int64_t occasion) const {
  Digest digest;
  digest.add(static_cast<std::int64_t>(seed_));
  digest.add(static_cast<std::int64_t>(point));
  digest.add(occasion);
  return active(point) && digest.value() % 4 == 0;
}

}  // namespace eplb::sim
