#pragma once

#include <cstdint>

#include "eplb/core/migration_plan.hpp"

namespace eplb::test {

/// A transfer from plain numbers: expert, source slot, destination slot.
[[nodiscard]] inline Transfer transfer(std::int32_t expert, std::int32_t source,
                                       std::int32_t destination) {
  return {.expert = LogicalExpertId{expert},
          .source = SlotId{source},
          .destination = SlotId{destination}};
}

}  // namespace eplb::test
