#include "eplb/core/nearest_load.hpp"

#include <cstdint>

#include "eplb/core/assert.hpp"
#include "eplb/core/layer_map.hpp"

namespace eplb {

std::vector<double> domain_parts(const Topology& topology) {
  std::vector<double> parts(static_cast<std::size_t>(topology.domain_count()), 0.0);
  for (std::int32_t rank = 0; rank < topology.rank_count(); ++rank) {
    parts[topology.domain_of(RankId{rank}).index()] += 1.0 / topology.rank_count();
  }
  return parts;
}

NearestLoad nearest_load(const Placement& placement, const RealLoadMatrix& load,
                         const Topology& topology) {
  const Shape& shape = placement.shape();
  EPLB_ASSERT_OP(load.rows(), ==, shape.layer_count);
  EPLB_ASSERT_OP(load.cols(), ==, shape.expert_count);
  EPLB_ASSERT_OP(topology.rank_count(), ==, shape.rank_count);
  const std::vector<double> parts = domain_parts(topology);
  NearestLoad result{.rank_loads = RealLoadMatrix::Zero(shape.layer_count, shape.rank_count)};
  double leaving = 0;
  for (std::int32_t index = 0; index < shape.layer_count; ++index) {
    const LayerPlacement& layer = placement.layer(LayerId{index});
    for (std::int32_t domain = 0; domain < topology.domain_count(); ++domain) {
      const LayerMap map = LayerMap::nearest(layer, topology, DomainId{domain});
      for (std::int32_t expert = 0; expert < shape.expert_count; ++expert) {
        const auto slots = map.slots(LogicalExpertId{expert});
        const double each = load(index, expert) * parts[static_cast<std::size_t>(domain)] /
                            static_cast<double>(slots.size());
        for (const std::int32_t slot : slots) {
          const RankId rank = layer.rank_of(SlotId{slot});
          result.rank_loads(index, rank.value) += each;
          leaving += topology.domain_of(rank) == DomainId{domain} ? 0 : each;
        }
      }
    }
  }
  if (const double sum = load.sum(); sum > 0) {
    result.network_share = leaving / sum;
  }
  return result;
}

}  // namespace eplb
