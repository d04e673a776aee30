#include "host_rows.hpp"

#include <algorithm>

namespace eplb::test {
namespace {

constexpr std::byte kNobodys{0xA5};

/// Different in each byte's neighbourhood, so that a row that is shifted, cut or mixed shows.
std::byte byte_of(std::int32_t layer, std::int32_t expert, std::size_t position) {
  std::uint64_t bits = (static_cast<std::uint64_t>(layer) << 40U) ^
                       (static_cast<std::uint64_t>(expert) << 20U) ^ position;
  bits = (bits ^ (bits >> 30U)) * 0xBF58476D1CE4E5B9U;
  bits = (bits ^ (bits >> 27U)) * 0x94D049BB133111EBU;
  return static_cast<std::byte>(bits >> 56U);
}

}  // namespace

void HostRows::reserve(RankId rank, const env::MemoryLayout& layout) {
  Memory& memory = ranks_[rank.index()];
  memory.layout = layout;
  memory.weights.clear();
  std::int64_t widest = 0;
  for (const std::int64_t bytes : layout.row_bytes) {
    widest = std::max(widest, bytes);
    memory.weights.emplace_back(static_cast<std::size_t>(bytes * layout.slots_per_rank), kNobodys);
  }
  memory.landing.assign(static_cast<std::size_t>(layout.landing_rows),
                        std::vector<std::byte>(static_cast<std::size_t>(widest), kNobodys));
}

void HostRows::release(RankId rank) {
  ranks_[rank.index()].weights.clear();
  ranks_[rank.index()].landing.clear();
}

std::span<std::byte> HostRows::bytes_at(const RowAddress& address, std::int64_t bytes) {
  Memory& memory = ranks_[address.rank.index()];
  const auto size = static_cast<std::size_t>(bytes);
  if (address.region == kLandingRegion) {
    return std::span(memory.landing.at(static_cast<std::size_t>(address.row))).first(size);
  }
  return std::span(memory.weights.at(address.region.index()))
      .subspan(static_cast<std::size_t>(address.row) * size, size);
}

void HostRows::copy(const RowCopy& copy) {
  const RegionId layer =
      copy.source.region == kLandingRegion ? copy.destination.region : copy.source.region;
  const std::int64_t bytes = ranks_[copy.source.rank.index()].layout.row_bytes.at(layer.index());
  const std::span<std::byte> source = bytes_at(copy.source, bytes);
  std::ranges::copy(source, bytes_at(copy.destination, bytes).begin());
}

void HostRows::load(RankId rank, const Placement& placement) {
  const std::int32_t slots = placement.shape().slots_per_rank();
  for (std::int32_t layer = 0; layer < placement.shape().layer_count; ++layer) {
    const auto experts = placement.layer(LayerId{layer}).on_rank(rank);
    for (std::int32_t row = 0; row < slots; ++row) {
      const std::span<std::byte> bytes =
          bytes_at({.region = weights_region(LayerId{layer}), .rank = rank, .row = row},
                   ranks_[rank.index()].layout.row_bytes[LayerId{layer}.index()]);
      for (std::size_t position = 0; position < bytes.size(); ++position) {
        bytes[position] = byte_of(layer, experts[static_cast<std::size_t>(row)].value, position);
      }
    }
  }
}

bool HostRows::holds(RankId rank, LayerId layer, std::int32_t row, LogicalExpertId expert) const {
  const Memory& memory = ranks_[rank.index()];
  if (memory.weights.empty()) {
    return false;
  }
  const auto size = static_cast<std::size_t>(memory.layout.row_bytes[layer.index()]);
  const std::span<const std::byte> bytes =
      std::span(memory.weights[layer.index()]).subspan(static_cast<std::size_t>(row) * size, size);
  for (std::size_t position = 0; position < size; ++position) {
    if (bytes[position] != byte_of(layer.value, expert.value, position)) {
      return false;
    }
  }
  return true;
}

}  // namespace eplb::test
