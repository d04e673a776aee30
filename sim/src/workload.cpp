#include "eplb/sim/workload.hpp"

#include <algorithm>

#include "eplb/sim/largest_remainder.hpp"

namespace eplb::sim {

Workload::Workload(const ModelOptions& model, const WorkloadOptions& options,
                   std::int64_t tokens_per_step, std::uint64_t seed)
    : noise_(options.noise),
      top_k_(model.top_k),
      tokens_(tokens_per_step),
      picks_(tokens_per_step * model.top_k),
      routing_(model, options, seed),
      random_(seed, "counts"),
      shares_(RealLoadMatrix::Zero(model.moe_layers, model.logical_experts)),
      conditional_(shares_),
      counts_(LoadMatrix::Zero(model.moe_layers, model.logical_experts)) {}

void Workload::set_tokens_per_step(std::int64_t tokens_per_step) {
  if (tokens_per_step == tokens_) {
    return;
  }
  tokens_ = tokens_per_step;
  picks_ = tokens_per_step * top_k_;
  rounded_ = false;
}

const LoadMatrix& Workload::counts_at(std::int64_t step) {
  const RealLoadMatrix& shares = routing_.shares_at(step);
  const bool changed = routing_.version() != routing_version_;
  if (changed) {
    routing_version_ = routing_.version();
    shares_ = shares;
    for (Eigen::Index layer = 0; layer < shares.rows(); ++layer) {
      double rest = 0;
      for (Eigen::Index expert = shares.cols() - 1; expert >= 0; --expert) {
        rest += shares(layer, expert);
        conditional_(layer, expert) = rest > 0 ? shares(layer, expert) / rest : 0;
      }
    }
  }
  for (Eigen::Index layer = 0; layer < counts_.rows(); ++layer) {
    if (noise_ == Noise::kMultinomial) {
      draw_layer(layer);
    } else if (changed || !rounded_) {
      round_layer(layer);
    }
  }
  rounded_ = true;
  return counts_;
}

void Workload::draw_layer(Eigen::Index layer) {
  std::int64_t left = picks_;
  const Eigen::Index expert_count = counts_.cols();
  for (Eigen::Index expert = 0; expert < expert_count; ++expert) {
    const std::int64_t others_max = tokens_ * (expert_count - expert - 1);
    const std::int64_t least = std::max<std::int64_t>(0, left - others_max);
    const std::int64_t most = std::min(left, tokens_);
    const std::int64_t drawn = draw_binomial(random_, left, conditional_(layer, expert));
    counts_(layer, expert) = std::clamp(drawn, least, most);
    left -= counts_(layer, expert);
  }
}

void Workload::round_layer(Eigen::Index layer) {
  const auto size = static_cast<std::size_t>(shares_.cols());
  const std::vector<std::int64_t> counts =
      largest_remainder({shares_.row(layer).data(), size}, picks_);
  std::ranges::copy(counts, counts_.row(layer).begin());
}

ReplicaDealer::ReplicaDealer(const Options& options)
    : options_(options),
      shares_(ReplicaShares::of_choice({.choice = options.choice,
                                        .rows_per_rank = options.rows_per_rank,
                                        .rank_count = options.rank_count})),
      rows_(std::int64_t{options.rows_per_rank} * options.rank_count),
      random_(options.seed, "replicas") {}

void ReplicaDealer::set_row_count(std::int64_t rows) {
  if (rows != rows_) {
    rows_ = rows;
    rows_by_count_.clear();
  }
}

void ReplicaDealer::deal(std::span<const std::int64_t> counts, const LayerMap& map,
                         std::span<std::int64_t> tokens_per_slot) {
  std::ranges::fill(tokens_per_slot, 0);
  const bool by_shares = options_.choice == ReplicaChoice::kShares && map.has_shares();
  for (std::size_t index = 0; index < counts.size(); ++index) {
    const LogicalExpertId expert{static_cast<std::int32_t>(index)};
    const auto slots = map.slots(expert);
    if (slots.size() == 1) {
      tokens_per_slot[static_cast<std::size_t>(slots.front())] = counts[index];
      continue;
    }
    dealt_.resize(slots.size());
    if (by_shares) {
      deal_by_shares(counts[index], map.thresholds(expert), dealt_);
    } else {
      deal_evenly(counts[index], dealt_);
    }
    for (std::size_t replica = 0; replica < slots.size(); ++replica) {
      tokens_per_slot[static_cast<std::size_t>(slots[replica])] = dealt_[replica];
    }
  }
}

void ReplicaDealer::deal_evenly(std::int64_t count, std::span<std::int64_t> tokens_per_replica) {
  const std::size_t replica_count = tokens_per_replica.size();
  if (options_.noise == Noise::kNone) {
    std::ranges::copy(
        largest_remainder(shares_.of(static_cast<std::int32_t>(replica_count)), count),
        tokens_per_replica.begin());
    return;
  }
  draw_from_parts(random_, rows_of(replica_count), count, tokens_per_replica);
}

// Points of rows lie evenly, so a replica has its share of them but for less than a row: of all
// rows, which then are drawn from, or of the picks themselves where there is no noise.
void ReplicaDealer::deal_by_shares(std::int64_t count, std::span<const std::uint16_t> thresholds,
                                   std::span<std::int64_t> tokens_per_replica) {
  const std::int64_t total = options_.noise == Noise::kNone ? count : rows_;
  shared_out_.clear();
  std::int64_t before = 0;
  for (const std::uint16_t threshold : thresholds) {
    const std::int64_t up_to = (total * threshold + kShareUnits / 2) / kShareUnits;
    shared_out_.push_back(up_to - before);
    before = up_to;
  }
  shared_out_.push_back(total - before);
  if (options_.noise == Noise::kNone) {
    std::ranges::copy(shared_out_, tokens_per_replica.begin());
    return;
  }
  draw_from_parts(random_, shared_out_, count, tokens_per_replica);
}

std::span<const std::int64_t> ReplicaDealer::rows_of(std::size_t replica_count) {
  if (rows_by_count_.size() <= replica_count) {
    rows_by_count_.resize(replica_count + 1);
  }
  if (rows_by_count_[replica_count].empty()) {
    rows_by_count_[replica_count] =
        largest_remainder(shares_.of(static_cast<std::int32_t>(replica_count)), rows_);
  }
  return rows_by_count_[replica_count];
}

}  // namespace eplb::sim
