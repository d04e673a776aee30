#include "rank_assignment.hpp"

#include <algorithm>
#include <limits>

namespace eplb::placement {
namespace {

constexpr std::int64_t kUnreached = std::numeric_limits<std::int64_t>::max();

/// Rows are taken in one at a time, each by a shortest path of exchanges. Index 0 of columns stands
/// for the row that is being taken in; rows and columns count from 1.
class Assignment {
 public:
  Assignment(const std::vector<std::int64_t>& gain, std::size_t size)
      : gain_(gain),
        size_(size),
        row_potential_(size + 1, 0),
        column_potential_(size + 1, 0),
        row_of_column_(size + 1, 0),
        previous_(size + 1, 0) {}

  void take_in(std::size_t row) {
    row_of_column_[0] = row;
    std::size_t column = shortest_path();
    while (column != 0) {
      row_of_column_[column] = row_of_column_[previous_[column]];
      column = previous_[column];
    }
  }

  [[nodiscard]] std::vector<std::size_t> column_of_row() const {
    std::vector<std::size_t> columns(size_);
    for (std::size_t column = 1; column <= size_; ++column) {
      columns[row_of_column_[column] - 1] = column - 1;
    }
    return columns;
  }

 private:
  /// The free column at the path's end.
  std::size_t shortest_path() {
    std::vector<std::int64_t> slack(size_ + 1, kUnreached);
    std::vector<bool> visited(size_ + 1, false);
    std::size_t column = 0;
    while (row_of_column_[column] != 0) {
      visited[column] = true;
      const std::size_t row = row_of_column_[column];
      std::int64_t least = kUnreached;
      std::size_t nearest = 0;
      for (std::size_t other = 1; other <= size_; ++other) {
        if (visited[other]) {
          continue;
        }
        const std::int64_t cost = -gain_[(row - 1) * size_ + (other - 1)] - row_potential_[row] -
                                  column_potential_[other];
        if (cost < slack[other]) {
          slack[other] = cost;
          previous_[other] = column;
        }
        if (slack[other] < least) {
          least = slack[other];
          nearest = other;
        }
      }
      for (std::size_t other = 0; other <= size_; ++other) {
        if (visited[other]) {
          row_potential_[row_of_column_[other]] += least;
          column_potential_[other] -= least;
        } else if (slack[other] != kUnreached) {
          slack[other] -= least;
        }
      }
      column = nearest;
    }
    return column;
  }

  const std::vector<std::int64_t>& gain_;
  std::size_t size_;
  std::vector<std::int64_t> row_potential_;
  std::vector<std::int64_t> column_potential_;
  std::vector<std::size_t> row_of_column_;
  std::vector<std::size_t> previous_;
};

}  // namespace

std::vector<std::size_t> assign_best(const std::vector<std::int64_t>& gain, std::size_t size) {
  Assignment assignment(gain, size);
  for (std::size_t row = 1; row <= size; ++row) {
    assignment.take_in(row);
  }
  return assignment.column_of_row();
}

std::vector<std::size_t> on_present_ranks(const std::vector<std::vector<std::size_t>>& packs,
                                          std::span<const std::uint8_t> held) {
  const std::size_t rank_count = packs.size();
  const std::size_t expert_count = held.size() / rank_count;
  const std::size_t slots_per_rank = packs.front().size();
  std::vector<std::int64_t> staying(rank_count * rank_count, 0);
  for (std::size_t pack = 0; pack < rank_count; ++pack) {
    for (std::size_t rank = 0; rank < rank_count; ++rank) {
      staying[pack * rank_count + rank] = std::ranges::count_if(
          packs[pack], [&](std::size_t expert) { return held[rank * expert_count + expert] != 0; });
    }
  }
  const std::vector<std::size_t> rank_of_pack = assign_best(staying, rank_count);
  std::vector<std::size_t> occupants(rank_count * slots_per_rank);
  for (std::size_t pack = 0; pack < rank_count; ++pack) {
    std::ranges::copy(packs[pack], occupants.begin() + static_cast<std::ptrdiff_t>(
                                                           rank_of_pack[pack] * slots_per_rank));
  }
  return occupants;
}

}  // namespace eplb::placement
