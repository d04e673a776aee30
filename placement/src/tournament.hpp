#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "ordered_bits.hpp"

namespace eplb::placement {

/// Who wins a tournament, and whom a tie favours.
enum class WinRule : std::uint8_t {
  kLeastThenLowestId,
  kLargestThenLowestId,
  kLargestThenHighestId
};

/// Keeps the winner of a fixed set of players, [0, player_count), whose values change one at a
/// time: a change costs one comparison a level of the tree. The order is total, as ids differ, so a
/// winner never depends on who met whom first. Values are not negative and not NaN.
template <typename Real, WinRule Rule>
class Tournament {
 public:
  /// `values` is [players], at least one.
  explicit Tournament(std::span<const Real> values)
      : player_count_(values.size()), matches_(2 * values.size()) {
    for (std::size_t player = 0; player < player_count_; ++player) {
      matches_[player_count_ + player] = {.key = key_of(values[player]),
                                          .player = static_cast<std::uint32_t>(player)};
    }
    for (std::size_t match = player_count_ - 1; match > 0; --match) {
      matches_[match] = winner_of(matches_[2 * match], matches_[2 * match + 1]);
    }
  }

  [[nodiscard]] std::size_t winner() const { return matches_[1].player; }

  void change_winner(Real value) { settle({.key = key_of(value), .player = matches_[1].player}); }

  /// Takes the winner out: every player that is still in beats it, even one of infinite value.
  void withdraw_winner() {
    settle({.key = std::numeric_limits<std::uint64_t>::max(), .player = matches_[1].player});
  }

 private:
  struct Entry {
    std::uint64_t key;  ///< The least key wins.
    std::uint32_t player;
  };

  [[nodiscard]] static std::uint64_t key_of(Real value) {
    return Rule == WinRule::kLeastThenLowestId ? ordered_bits(value)
                                               : ~std::uint64_t{ordered_bits(value)};
  }

  // Which of two players wins is as good as random, and a branch would be guessed wrongly half of
  // the time: from whole numbers and without && and || the compiler makes none.
  [[nodiscard]] static Entry winner_of(Entry left, Entry right) {
    const bool better = right.key < left.key;
    const bool tie = right.key == left.key;
    const bool favoured = Rule == WinRule::kLargestThenHighestId ? right.player > left.player
                                                                 : right.player < left.player;
    const bool right_wins = better | (tie & favoured);
    return {.key = choose(right_wins, left.key, right.key),
            .player = choose(right_wins, left.player, right.player)};
  }

  template <typename Whole>
  [[nodiscard]] static Whole choose(bool second, Whole first_value, Whole second_value) {
    const Whole all_bits_if_second = Whole{0} - Whole{second};
    return first_value ^ ((first_value ^ second_value) & all_bits_if_second);
  }

  void settle(Entry entry) {
    std::size_t match = player_count_ + entry.player;
    matches_[match] = entry;
    for (; match > 1; match /= 2) {
      entry = winner_of(entry, matches_[match ^ 1U]);
      matches_[match / 2] = entry;
    }
  }

  // A complete tree: match i is between the winners of 2 i and 2 i + 1, the players stand at
  // [player_count, 2 player_count), the winner at 1.
  std::size_t player_count_;
  std::vector<Entry> matches_;
};

}  // namespace eplb::placement
