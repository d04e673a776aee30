#include "eplb/sim/nearest_dealer.hpp"

#include <algorithm>
#include <numeric>

#include "eplb/sim/largest_remainder.hpp"

namespace eplb::sim {
namespace {

/// Streams of domains, far from those of models and of runs with the next seeds.
constexpr std::uint64_t kSeedStride = 0xC2B2AE3D27D4EB4FU;

std::vector<std::int32_t> sizes_of(const Topology& topology) {
  std::vector<std::int32_t> sizes(static_cast<std::size_t>(topology.domain_count()), 0);
  for (std::int32_t rank = 0; rank < topology.rank_count(); ++rank) {
    ++sizes[topology.domain_of(RankId{rank}).index()];
  }
  return sizes;
}

}  // namespace

NearestDealer::NearestDealer(const Options& options)
    : topology_(options.topology),
      slots_per_rank_(options.slots_per_rank),
      noise_(options.dealer.noise),
      random_(options.dealer.seed, "domains"),
      whole_(options.dealer),
      sizes_(sizes_of(topology_)),
      picks_(sizes_.size()),
      arriving_(static_cast<std::size_t>(topology_.rank_count())),
      sent_(sizes_.size()) {
  for (std::size_t domain = 0; domain < sizes_.size(); ++domain) {
    ReplicaDealer::Options of_domain = options.dealer;
    of_domain.rank_count = sizes_[domain];
    of_domain.seed += kSeedStride * (domain + 1);
    dealers_.emplace_back(of_domain);
  }
  const std::vector<std::int64_t> rows(arriving_.size(), options.dealer.rows_per_rank);
  set_rows(rows);
}

void NearestDealer::set_rows(std::span<const std::int64_t> rows_by_rank) {
  rank_rows_.assign(rows_by_rank.begin(), rows_by_rank.end());
  domain_rows_.assign(sizes_.size(), 0);
  for (std::size_t rank = 0; rank < rank_rows_.size(); ++rank) {
    domain_rows_[topology_.domain_of(RankId{static_cast<std::int32_t>(rank)}).index()] +=
        rank_rows_[rank];
  }
  rows_ = std::accumulate(rank_rows_.begin(), rank_rows_.end(), std::int64_t{0});
  whole_.set_row_count(rows_);
  for (std::size_t domain = 0; domain < dealers_.size(); ++domain) {
    dealers_[domain].set_row_count(domain_rows_[domain]);
  }
}

void NearestDealer::deal(std::span<const std::int64_t> counts,
                         std::span<const LayerMap* const> maps,
                         std::span<std::int64_t> tokens_per_slot) {
  std::ranges::fill(tokens_per_slot, 0);
  std::ranges::fill(arriving_, 0.0);
  std::ranges::fill(sent_, 0.0);
  for (std::size_t index = 0; index < counts.size(); ++index) {
    const LogicalExpertId expert{static_cast<std::int32_t>(index)};
    const auto slots = maps.front()->slots(expert);
    const bool alike = std::ranges::all_of(maps.subspan(1), [&](const LayerMap* map) {
      return std::ranges::equal(map->slots(expert), slots);
    });
    if (alike) {
      deal_alike(counts[index], slots, tokens_per_slot);
    } else {
      deal_apart(counts[index], expert, maps, tokens_per_slot);
    }
  }
}

void NearestDealer::deal_alike(std::int64_t count, std::span<const std::int32_t> slots,
                               std::span<std::int64_t> tokens_per_slot) {
  dealt_.assign(slots.size(), count);
  if (slots.size() > 1) {
    whole_.deal_evenly(count, dealt_);
  }
  for (std::size_t replica = 0; replica < slots.size(); ++replica) {
    tokens_per_slot[static_cast<std::size_t>(slots[replica])] += dealt_[replica];
    for (std::size_t domain = 0; domain < domain_rows_.size(); ++domain) {
      const double part = static_cast<double>(domain_rows_[domain]) / static_cast<double>(rows_);
      note(DomainId{static_cast<std::int32_t>(domain)}, slots[replica],
           part * static_cast<double>(dealt_[replica]));
    }
  }
}

void NearestDealer::deal_apart(std::int64_t count, LogicalExpertId expert,
                               std::span<const LayerMap* const> maps,
                               std::span<std::int64_t> tokens_per_slot) {
  split_over_domains(count);
  for (std::size_t domain = 0; domain < maps.size(); ++domain) {
    const auto slots = maps[domain]->slots(expert);
    dealt_.resize(slots.size());
    dealers_[domain].deal_evenly(picks_[domain], dealt_);
    for (std::size_t replica = 0; replica < slots.size(); ++replica) {
      tokens_per_slot[static_cast<std::size_t>(slots[replica])] += dealt_[replica];
      note(DomainId{static_cast<std::int32_t>(domain)}, slots[replica],
           static_cast<double>(dealt_[replica]));
    }
  }
}

void NearestDealer::split_over_domains(std::int64_t count) {
  if (noise_ == Noise::kNone) {
    std::vector<double> parts;
    parts.reserve(domain_rows_.size());
    for (const std::int64_t rows : domain_rows_) {
      parts.push_back(static_cast<double>(rows) / static_cast<double>(rows_));
    }
    std::ranges::copy(largest_remainder(parts, count), picks_.begin());
    return;
  }
  draw_from_parts(random_, domain_rows_, count, picks_);
}

void NearestDealer::note(DomainId from, std::int32_t slot, double rows) {
  const RankId rank{slot / slots_per_rank_};
  if (topology_.domain_of(rank) != from) {
    arriving_[rank.index()] += rows;
    sent_[from.index()] += rows;
  }
}

WireRows NearestDealer::network_rows(RankId rank) const {
  const std::size_t domain = topology_.domain_of(rank).index();
  const double part = domain_rows_[domain] > 0 ? static_cast<double>(rank_rows_[rank.index()]) /
                                                     static_cast<double>(domain_rows_[domain])
                                               : 0;
  return {.arriving = arriving_[rank.index()], .sent = sent_[domain] * part};
}

double NearestDealer::network_row_count() const {
  return std::accumulate(sent_.begin(), sent_.end(), 0.0);
}

}  // namespace eplb::sim
