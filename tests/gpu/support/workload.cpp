#include "workload.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace eplb::gpu::test {
namespace {

std::size_t size_of(std::int32_t count) {
  return static_cast<std::size_t>(count);
}

template <typename T>
void shuffle(std::vector<T>& values, Draw& draw) {
  for (std::size_t end = values.size(); end > 1; --end) {
    std::swap(values[end - 1], values[size_of(draw.below(static_cast<std::int32_t>(end)))]);
  }
}

std::vector<std::int32_t> drawn_order(std::int32_t expert_count, Draw& draw) {
  std::vector<std::int32_t> order(size_of(expert_count));
  std::iota(order.begin(), order.end(), 0);
  shuffle(order, draw);
  return order;
}

/// Draws places of an order in proportion to 1 / (place + 1), or evenly.
class PlaceDraw {
 public:
  PlaceDraw(std::int32_t count, bool is_zipf) {
    double sum = 0;
    for (std::int32_t place = 0; place < count; ++place) {
      sum += is_zipf ? 1.0 / (place + 1) : 1.0;
      sums_.push_back(sum);
    }
  }

  std::size_t operator()(Draw& draw) const {
    const double aim = draw.fraction() * sums_.back();
    const auto found = std::ranges::upper_bound(sums_, aim);
    return std::min(static_cast<std::size_t>(found - sums_.begin()), sums_.size() - 1);
  }

 private:
  std::vector<double> sums_;
};

}  // namespace

const char* name_of(Skew skew) {
  switch (skew) {
    case Skew::kUniform:
      return "uniform";
    case Skew::kZipf:
      return "zipf";
    case Skew::kHot:
      return "hot";
    case Skew::kSingle:
      return "single";
  }
  return "?";
}

std::vector<std::int64_t> draw_picks(const PickOptions& options, Draw& draw) {
  const std::vector<std::int32_t> order = drawn_order(options.expert_count, draw);
  const PlaceDraw draw_place(options.expert_count, options.skew == Skew::kZipf);
  const bool is_drawn = options.skew == Skew::kUniform || options.skew == Skew::kZipf;
  std::vector<std::int64_t> picks;
  picks.reserve(size_of(options.row_count) * size_of(options.top_k));
  for (std::int32_t row = 0; row < options.row_count; ++row) {
    const auto row_begin = static_cast<std::ptrdiff_t>(picks.size());
    for (std::int32_t column = 0; column < options.top_k; ++column) {
      std::size_t place = options.skew == Skew::kHot ? size_of(column) : 0;
      if (is_drawn) {
        do {
          place = draw_place(draw);
        } while (std::find(picks.begin() + row_begin, picks.end(), order[place]) != picks.end());
      }
      picks.push_back(order[place]);
    }
  }
  return picks;
}

void spoil_picks(std::vector<std::int64_t>& picks, std::int32_t expert_count, bool is_narrow,
                 Draw& draw) {
  const std::vector<std::int64_t> invalid{-1,        -7,       expert_count, expert_count + 5,
                                          INT32_MAX, INT32_MIN};
  const std::vector<std::int64_t> wide{std::int64_t{1} << 32U, (std::int64_t{1} << 32U) + 3,
                                       INT64_MAX, INT64_MIN, -(std::int64_t{1} << 32U)};
  for (std::int64_t& pick : picks) {
    if (draw.chance(0.06)) {
      const auto& from = is_narrow || draw.chance(0.5) ? invalid : wide;
      pick = from[size_of(draw.below(static_cast<std::int32_t>(from.size())))];
    }
  }
}

Shape shape_of(std::int32_t expert_count, std::int32_t slot_count) {
  return {.layer_count = 1,
          .expert_count = expert_count,
          .redundant_slot_count = slot_count - expert_count,
          .rank_count = 8,
          .expert_group_count = 1};
}

LayerMap draw_map(const Shape& shape, Draw& draw) {
  std::vector<std::int32_t> experts = drawn_order(shape.expert_count, draw);
  const std::vector<std::int32_t> order = experts;
  const PlaceDraw draw_place(shape.expert_count, true);
  while (experts.size() < size_of(shape.slot_count())) {
    experts.push_back(order[draw_place(draw)]);
  }
  shuffle(experts, draw);
  std::vector<LogicalExpertId> occupants(experts.size());
  std::ranges::transform(experts, occupants.begin(),
                         [](std::int32_t expert) { return LogicalExpertId{expert}; });
  const LayerPlacement placement = LayerPlacement::create(shape, std::move(occupants)).value();
  if (draw.chance(0.5)) {
    return LayerMap::from(placement);
  }
  std::vector<double> weights(size_of(shape.slot_count()));
  std::ranges::generate(weights, [&] { return draw.chance(0.2) ? 0.0 : draw.fraction(); });
  return LayerMap::from(placement, LayerShares::nearest(placement, weights));
}

ReplicaChoice draw_choice(Draw& draw) {
  constexpr std::array kChoices{ReplicaChoice::kHash, ReplicaChoice::kSalted,
                                ReplicaChoice::kShares};
  return kChoices[static_cast<std::size_t>(draw.below(kChoices.size()))];
}

}  // namespace eplb::gpu::test
