#include "eplb/core/cadence.hpp"

namespace eplb {

bool Cadence::log_due() const {
  return options_.log_interval.has_value() && counter_ % *options_.log_interval == 0;
}

bool Cadence::should_record() const {
  if (options_.step_interval - counter_ <= options_.window_size) {
    return true;
  }
  if (!options_.log_interval.has_value()) {
    return false;
  }
  const std::int64_t interval = *options_.log_interval;
  return (interval - counter_ % interval) % interval <= options_.window_size;
}

}  // namespace eplb
