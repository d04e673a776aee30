#include "eplb/sim/group/row_store.hpp"

#include <string>

#include "eplb/core/assert.hpp"

namespace eplb::sim {

void RowStore::reserve(RankId rank, const env::MemoryLayout& layout) {
  RankRows& rows = ranks_[rank.index()];
  EPLB_ASSERT(rows.rows.empty());
  rows.layout = layout;
  rows.rows.resize(static_cast<std::size_t>(layout.slots_per_rank) * layout.row_bytes.size() +
                   static_cast<std::size_t>(layout.landing_rows));
}

void RowStore::release(RankId rank) {
  for (const Row& row : ranks_[rank.index()].rows) {
    if (row.readers + row.writers > 0) {
      violations_.add(engine_.now_ns(),
                      "rank " + std::to_string(rank.value) + " released its memory under a copy");
      break;
    }
  }
  ranks_[rank.index()].rows.clear();
}

std::size_t RowStore::index_of(const RowAddress& address) const {
  const env::MemoryLayout& layout = ranks_[address.rank.index()].layout;
  const auto slots = static_cast<std::size_t>(layout.slots_per_rank);
  const std::size_t region =
      address.region == kLandingRegion ? layout.row_bytes.size() : address.region.index();
  return region * slots + static_cast<std::size_t>(address.row);
}

bool RowStore::exists(const RowAddress& address) const {
  const RankRows& rows = ranks_[address.rank.index()];
  const std::int32_t count =
      address.region == kLandingRegion ? rows.layout.landing_rows : rows.layout.slots_per_rank;
  return !rows.rows.empty() && address.row >= 0 && address.row < count;
}

void RowStore::violate(const RowAddress& address, const char* what) {
  const std::string region = address.region == kLandingRegion
                                 ? "landing row "
                                 : "layer " + std::to_string(address.region.value) + " slot ";
  violations_.add(engine_.now_ns(), "rank " + std::to_string(address.rank.value) + ", " + region +
                                        std::to_string(address.row) + ": " + what);
}

void RowStore::begin_copy(const RowCopy& copy) {
  if (!exists(copy.source) || !exists(copy.destination)) {
    violate(exists(copy.source) ? copy.destination : copy.source, "copied though not reserved");
    return;
  }
  Row& source = ranks_[copy.source.rank.index()].rows[index_of(copy.source)];
  if (source.writers > 0) {
    violate(copy.source, "read while it is written");
  }
  ++source.readers;
  RankRows& rank = ranks_[copy.destination.rank.index()];
  Row& destination = rank.rows[index_of(copy.destination)];
  if (destination.writers > 0) {
    violate(copy.destination, "written by two copies at once");
  }
  if (destination.readers > 0) {
    violate(copy.destination, "written while it is read");
  }
  if (rank.in_forward && copy.destination.region != kLandingRegion) {
    violate(copy.destination, "written while a forward uses it");
  }
  ++destination.writers;
  destination.content = kNoContent;
}

void RowStore::end_copy(const RowCopy& copy, bool failed) {
  if (!exists(copy.source) || !exists(copy.destination)) {
    return;
  }
  Row& source = ranks_[copy.source.rank.index()].rows[index_of(copy.source)];
  Row& destination = ranks_[copy.destination.rank.index()].rows[index_of(copy.destination)];
  --source.readers;
  --destination.writers;
  destination.content = failed ? kNoContent : source.content;
}

void RowStore::begin_forward(RankId rank) {
  RankRows& rows = ranks_[rank.index()];
  rows.in_forward = true;
  const std::size_t weights =
      static_cast<std::size_t>(rows.layout.slots_per_rank) * rows.layout.row_bytes.size();
  if (rows.rows.size() < weights) {
    violations_.add(engine_.now_ns(),
                    "rank " + std::to_string(rank.value) + ": a forward began without its weights");
    return;
  }
  for (std::size_t index = 0; index < weights; ++index) {
    if (rows.rows[index].writers > 0) {
      violations_.add(engine_.now_ns(), "rank " + std::to_string(rank.value) +
                                            ": a forward began while its weights are written");
      return;
    }
  }
}

void RowStore::end_forward(RankId rank) {
  ranks_[rank.index()].in_forward = false;
}

void RowStore::set(const RowAddress& address, const RowContent& content) {
  if (exists(address)) {
    ranks_[address.rank.index()].rows[index_of(address)].content = content;
  }
}

const RowContent& RowStore::content(const RowAddress& address) const {
  return exists(address) ? ranks_[address.rank.index()].rows[index_of(address)].content
                         : kNoContent;
}

std::int64_t RowStore::row_bytes(const RowAddress& address) const {
  const env::MemoryLayout& layout = ranks_[address.rank.index()].layout;
  return layout.row_bytes[address.region.index()];
}

std::int32_t RowStore::landing_rows(RankId rank) const {
  return ranks_[rank.index()].layout.landing_rows;
}

}  // namespace eplb::sim
