#pragma once

#include <cstdint>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "eplb/core/policy.hpp"
#include "eplb/core/result.hpp"

namespace eplb::cli {

/// What spare slots would bring if layers, or ranks, could have unequal ones. A study only: in the
/// engines all layers and all ranks have the same. Each layer is planned from scratch, on the sum
/// of the window, with groups left aside; balancedness is of an even split.
struct SpareStudy {
  double equal = 0;  ///< Balancedness where each layer has the problem's spare slots,

  /// and where as many in all are dealt to the layers that gain the most, one more on every rank at
  /// a time, greedily; what none gains from is kept.
  double dealt = 0;
  std::vector<std::int32_t> spares_by_layer = {};  ///< So dealt, [layers].

  /// And where each layer has the problem's, but a rank may have one slot more than its share, and
  /// others have fewer for it.
  double uneven = 0;
  std::int32_t slots_min = 0;  ///< Of a rank in a layer, there.
  std::int32_t slots_max = 0;
};

/// The policy's own error if it refuses a shape; kInvalidArgument without any load.
[[nodiscard]] Result<SpareStudy> study_spares(const PolicyProblem& problem,
                                              const PlacementPolicy& policy);

[[nodiscard]] nlohmann::ordered_json spare_study_json(const SpareStudy& study);
void print_spare_study(const SpareStudy& study, const Shape& shape, std::ostream& out);

}  // namespace eplb::cli
