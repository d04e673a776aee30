#include "eplb/core/rank_load.hpp"

#include "eplb/core/assert.hpp"

namespace eplb {

ReplicaShares ReplicaShares::even() {
  return {};
}

ReplicaShares ReplicaShares::of_choice(const ChoiceOptions& options) {
  EPLB_ASSERT_OP(options.rows_per_rank, >=, 1);
  EPLB_ASSERT_OP(options.rank_count, >=, 1);
  ReplicaShares shares;
  shares.even_ = false;
  shares.options_ = options;
  return shares;
}

std::span<const double> ReplicaShares::of(std::int32_t replica_count) {
  EPLB_ASSERT_OP(replica_count, >=, 1);
  const auto index = static_cast<std::size_t>(replica_count);
  if (by_count_.size() <= index) {
    by_count_.resize(index + 1);
  }
  if (by_count_[index].empty()) {
    by_count_[index] = count_shares(replica_count);
  }
  return by_count_[index];
}

std::vector<double> ReplicaShares::count_shares(std::int32_t replica_count) const {
  const auto count = static_cast<std::size_t>(replica_count);
  if (even_) {
    std::vector<double> alike(count, 1.0 / replica_count);
    return alike;
  }
  std::vector<std::int64_t> rows(count, 0);
  const auto row_count = static_cast<std::uint32_t>(options_.rows_per_rank);
  const auto rank_count = static_cast<std::uint32_t>(options_.rank_count);
  const auto replicas = ReplicaCount::of(static_cast<std::uint32_t>(replica_count));
  for (std::uint32_t rank = 0; rank < rank_count; ++rank) {
    for (std::uint32_t row = 0; row < row_count; ++row) {
      const ReplicaKey key{.row = row, .rank = rank, .layer = 0, .expert = 0};
      ++rows[choose_replica(options_.choice, key, replicas)];
    }
  }
  std::vector<double> shares;
  shares.reserve(count);
  for (const std::int64_t chosen : rows) {
    shares.push_back(static_cast<double>(chosen) /
                     (static_cast<double>(row_count) * static_cast<double>(rank_count)));
  }
  return shares;
}

RealLoadMatrix rank_loads(const Placement& placement, const RealLoadMatrix& load,
                          ReplicaShares& shares) {
  const Shape& shape = placement.shape();
  EPLB_ASSERT_OP(load.rows(), ==, shape.layer_count);
  EPLB_ASSERT_OP(load.cols(), ==, shape.expert_count);
  RealLoadMatrix loads = RealLoadMatrix::Zero(shape.layer_count, shape.rank_count);
  std::vector<std::size_t> next_replica;
  for (std::int32_t index = 0; index < shape.layer_count; ++index) {
    const LayerPlacement& layer = placement.layer(LayerId{index});
    const std::vector<std::int32_t> replicas = layer.replica_counts();
    next_replica.assign(replicas.size(), 0);
    for (std::int32_t slot = 0; slot < layer.slot_count(); ++slot) {
      const LogicalExpertId expert = layer.occupant(SlotId{slot});
      if (expert != kNoExpert) {
        const double share = shares.of(replicas[expert.index()])[next_replica[expert.index()]++];
        loads(index, layer.rank_of(SlotId{slot}).value) += share * load(index, expert.value);
      }
    }
  }
  return loads;
}

RealLoadMatrix rank_loads(const Placement& placement, const RealLoadMatrix& load,
                          std::span<const LayerShares> shares) {
  const Shape& shape = placement.shape();
  EPLB_ASSERT_OP(load.rows(), ==, shape.layer_count);
  EPLB_ASSERT_OP(load.cols(), ==, shape.expert_count);
  EPLB_ASSERT_OP(shares.size(), ==, placement.layers().size());
  RealLoadMatrix loads = RealLoadMatrix::Zero(shape.layer_count, shape.rank_count);
  for (std::int32_t index = 0; index < shape.layer_count; ++index) {
    const LayerPlacement& layer = placement.layer(LayerId{index});
    const LayerShares& of_layer = shares[static_cast<std::size_t>(index)];
    for (std::int32_t slot = 0; slot < layer.slot_count(); ++slot) {
      if (const LogicalExpertId expert = layer.occupant(SlotId{slot}); expert != kNoExpert) {
        loads(index, layer.rank_of(SlotId{slot}).value) +=
            of_layer.of(SlotId{slot}) * load(index, expert.value);
      }
    }
  }
  return loads;
}

}  // namespace eplb
