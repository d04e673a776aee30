#include "served_group.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>

namespace eplb::test {
namespace {

/// Ranks that hold look again for ever; no test here waits as long for a forward.
constexpr std::int64_t kStuckNs = 1'000'000'000;

}  // namespace

class ServedGroup::Faults final : public env::FaultPoints {
 public:
  Faults(const ServedGroup& group, RankId rank) : group_(group), rank_(rank) {}

  [[nodiscard]] bool fires(env::FaultPoint point) override {
    return group_.fires && group_.fires(rank_, point);
  }

  [[nodiscard]] bool fires_alike(env::FaultPoint /*point*/,
                                 std::int64_t /*occasion*/) const override {
    return false;
  }

 private:
  const ServedGroup& group_;
  RankId rank_;
};

class ServedGroup::Trace final : public env::TraceSink {
 public:
  explicit Trace(ServedGroup& group) : group_(group) {}

  void record(const env::TraceRecord& record) override {
    group_.trace_.push_back({.step = group_.steps_, .record = record});
  }

 private:
  ServedGroup& group_;
};

ServedGroup::ServedGroup(Options options, const PlacementPolicy& policy)
    : options_(std::move(options)), sink_(std::make_unique<Trace>(*this)) {
  const Shape& shape = options_.settings.shape;
  std::vector<env::FaultPoints*> faults;
  for (std::int32_t rank = 0; rank < shape.rank_count; ++rank) {
    fault_points_.push_back(std::make_unique<Faults>(*this, RankId{rank}));
    faults.push_back(fault_points_.back().get());
  }
  Serving& serving = *this;
  const Placement initial = Placement::initial(shape);
  group_ = std::make_unique<sim::SimGroup>(
      sim::SimGroup::World{.engine = engine_,
                           .timing = timing_,
                           .carrier = carrier_,
                           .violations = violations_,
                           .trace_sink = *sink_,
                           .policy = policy,
                           .serving = serving},
      sim::SimGroup::Options{.rank_count = shape.rank_count,
                             .traits = options_.traits,
                             .one_rank_counts = options_.one_rank_counts},
      initial, faults);
  if (const auto created = group_->create_balancers(options_.settings); !created) {
    throw std::runtime_error(created.error().message);
  }
  group_->load_weights(initial, 0);
}

ServedGroup::~ServedGroup() = default;

void ServedGroup::serve_until(std::int64_t steps) {
  if (!begun_) {
    begun_ = true;
    group_->resume();
  }
  waiting_since_ns_ = engine_.now_ns();
  const auto rank_count = static_cast<std::size_t>(group_->rank_count());
  while (steps_ < steps && stopped_.size() < rank_count &&
         engine_.now_ns() < waiting_since_ns_ + kStuckNs && engine_.run_next()) {
  }
}

bool ServedGroup::rearrange_until(std::size_t rearrangements, std::int64_t steps_max) {
  const std::int64_t last = steps_ + steps_max;
  std::int64_t before = -1;
  while (balancer(0).rearrangements().size() < rearrangements && steps_ < last && steps_ > before) {
    before = steps_;
    serve_until(steps_ + 1);
  }
  return balancer(0).rearrangements().size() >= rearrangements;
}

void ServedGroup::look_at(LayerId layer) {
  const LayerPlacement& placement = balancer(0).placement().layer(layer);
  const LayerMap map = LayerMap::from(placement);
  const std::string where =
      "step " + std::to_string(steps_) + " layer " + std::to_string(layer.value) + ": ";
  for (std::int32_t rank = 0; rank < group_->rank_count(); ++rank) {
    if (group_->rank(RankId{rank}).maps().map(layer) != map) {
      violations_.add(engine_.now_ns(), where + "another map on rank " + std::to_string(rank));
    }
  }
  for (std::int32_t slot = 0; slot < placement.slot_count(); ++slot) {
    const sim::RowContent due{.layer = layer.value,
                              .expert = placement.occupant(SlotId{slot}).value};
    const RowAddress row{.region = weights_region(layer),
                         .rank = placement.rank_of(SlotId{slot}),
                         .row = slot % placement.slots_per_rank()};
    if (group_->rows().content(row) != due) {
      violations_.add(engine_.now_ns(), where + "wrong content in slot " + std::to_string(slot));
    }
  }
}

void ServedGroup::forward_ready() {
  const Shape& shape = options_.settings.shape;
  for (std::int32_t layer = 0; layer < shape.layer_count; ++layer) {
    look_at(LayerId{layer});
  }
  for (std::int32_t index = 0; index < shape.rank_count; ++index) {
    sim::SimRank& rank = group_->rank(RankId{index});
    if (!rank.recorder().gate()) {
      continue;
    }
    LoadMatrix logical = tokens ? tokens(RankId{index}, steps_)
                                : LoadMatrix::Ones(shape.layer_count, shape.expert_count);
    LoadMatrix physical = LoadMatrix::Zero(shape.layer_count, shape.slot_count());
    for (std::int32_t layer = 0; layer < shape.layer_count; ++layer) {
      for (std::int32_t expert = 0; expert < shape.expert_count; ++expert) {
        const auto slots = rank.maps().map(LayerId{layer}).slots(LogicalExpertId{expert});
        physical(layer, slots.front()) += logical(layer, expert);
      }
    }
    rank.recorder().count(std::move(logical), std::move(physical));
  }
  group_->begin_forward(options_.forward_ns);
}

void ServedGroup::end_forward() {
  ++steps_;
  waiting_since_ns_ = engine_.now_ns();
}

void ServedGroup::stopped(RankId rank) {
  stopped_.emplace(rank.value, balancer(rank.value).stop_reason());
}

std::vector<Traced> ServedGroup::records(std::int32_t rank, env::TraceEvent event) const {
  std::vector<Traced> found;
  std::ranges::copy_if(trace_, std::back_inserter(found), [&](const Traced& traced) {
    return traced.record.rank == RankId{rank} && traced.record.event == event;
  });
  return found;
}

std::int64_t ServedGroup::last_step(std::int32_t rank, env::TraceEvent event) const {
  const std::vector<Traced> found = records(rank, event);
  return found.empty() ? -1 : found.back().step;
}

std::vector<std::string> ServedGroup::faults() const {
  std::vector<std::string> texts;
  for (const sim::Violation& violation : violations_.list()) {
    texts.push_back(violation.what);
  }
  return texts;
}

Balancer::Settings settings_of(const Shape& shape, EplbOptions options) {
  options.num_redundant_experts = shape.redundant_slot_count;
  options.window_parts = 1;
  options.history_parts = 1;
  return {
      .options = std::move(options),
      .shape = shape,
      .topology =
          Topology::create({.rank_count = shape.rank_count, .ranks_per_domain = shape.rank_count})
              .value(),
      .row_bytes = std::vector<std::int64_t>(static_cast<std::size_t>(shape.layer_count), 1000)};
}

}  // namespace eplb::test
