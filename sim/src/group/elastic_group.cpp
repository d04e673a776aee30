#include "eplb/sim/group/elastic_group.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace eplb::sim {

ElasticGroup::ElasticGroup(const SimGroup::World& world, const SimGroup::Options& options,
                           const Placement& initial, FaultPointsOf fault_points_of)
    : world_(world),
      options_(options),
      fault_points_of_(std::move(fault_points_of)),
      group_(make_group(initial)) {}

std::unique_ptr<SimGroup> ElasticGroup::make_group(const Placement& initial) {
  std::vector<env::FaultPoints*> faults;
  faults.reserve(static_cast<std::size_t>(options_.rank_count));
  for (std::int32_t rank = 0; rank < options_.rank_count; ++rank) {
    faults.push_back(&fault_points_of_(RankId{rank}));
  }
  return std::make_unique<SimGroup>(world_, options_, initial, faults);
}

void ElasticGroup::drain() {
  for (std::int32_t rank = 0; rank < group_->rank_count(); ++rank) {
    group_->rank(RankId{rank}).balancer().drain();
  }
}

void ElasticGroup::resume_triggers() {
  for (std::int32_t rank = 0; rank < group_->rank_count(); ++rank) {
    group_->rank(RankId{rank}).balancer().resume();
  }
}

Result<void> ElasticGroup::vacate(const std::vector<RankId>& staying, const Topology& topology) {
  for (std::int32_t rank = 0; rank < group_->rank_count(); ++rank) {
    if (auto vacated = group_->rank(RankId{rank}).balancer().vacate(staying, topology); !vacated) {
      return vacated;
    }
  }
  return {};
}

bool ElasticGroup::idle() {
  for (std::int32_t rank = 0; rank < group_->rank_count(); ++rank) {
    if (group_->rank(RankId{rank}).balancer().state() != MigrationState::kIdle) {
      return false;
    }
  }
  return true;
}

bool ElasticGroup::drained() {
  for (std::int32_t rank = 0; rank < group_->rank_count(); ++rank) {
    if (!group_->rank(RankId{rank}).balancer().drained()) {
      return false;
    }
  }
  return true;
}

Result<void> ElasticGroup::rescale(const RankMapping& mapping, const Topology& topology) {
  auto snapshot = balancer()->snapshot_for(mapping, topology.rank_count());
  if (!snapshot) {
    return tl::unexpected(snapshot.error());
  }
  Balancer::Settings settings = balancer()->settings();
  settings.shape = snapshot->placement.shape();
  settings.topology = topology;
  past_held_ns_ = held_ns();
  past_wire_ns_ = wire_ns();
  past_.push_back(std::move(group_));
  SimGroup& before = *past_.back();
  options_.rank_count = topology.rank_count();
  group_ = make_group(snapshot->placement);
  std::vector<bool> joins(static_cast<std::size_t>(options_.rank_count), true);
  for (std::size_t index = 0; index < mapping.size(); ++index) {
    const RankId to = mapping[index];
    auto balancer = before.rank(RankId{static_cast<std::int32_t>(index)}).detach();
    if (to.value < 0) {
      continue;
    }
    joins[to.index()] = false;
    SimRank& rank = group_->rank(to);
    if (auto moved = balancer->rescale(rank.environment(), mapping, topology); !moved) {
      return moved;
    }
    rank.attach(std::move(balancer));
  }
  for (std::int32_t index = 0; index < options_.rank_count; ++index) {
    if (joins[static_cast<std::size_t>(index)]) {
      SimRank& rank = group_->rank(RankId{index});
      auto joined = Balancer::join(settings, rank.environment(), *snapshot);
      if (!joined) {
        return tl::unexpected(joined.error());
      }
      rank.attach(std::move(*joined));
    }
  }
  keep_weights(before, mapping, settings.shape);
  return {};
}

void ElasticGroup::keep_weights(const SimGroup& before, const RankMapping& mapping,
                                const Shape& shape) {
  for (std::size_t index = 0; index < mapping.size(); ++index) {
    if (mapping[index].value < 0) {
      continue;
    }
    for (std::int32_t layer = 0; layer < shape.layer_count; ++layer) {
      for (std::int32_t slot = 0; slot < shape.slots_per_rank(); ++slot) {
        RowAddress row{.region = weights_region(LayerId{layer}),
                       .rank = RankId{static_cast<std::int32_t>(index)},
                       .row = slot};
        const RowContent content = before.rows().content(row);
        row.rank = mapping[index];
        group_->rows().set(row, content);
      }
    }
  }
}

std::int64_t ElasticGroup::held_ns() const {
  std::int64_t longest_ns = 0;
  for (std::int32_t rank = 0; rank < group_->rank_count(); ++rank) {
    longest_ns = std::max(longest_ns, group_->rank(RankId{rank}).hold_ns());
  }
  return past_held_ns_ + longest_ns;
}

}  // namespace eplb::sim
