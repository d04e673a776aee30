#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace eplb::placement {

/// Names and defaults in brackets are FlashLB's.
struct FlashOptions {
  double risk = 0.6745;     ///< Deviations that count beside the mean (z_score, of 75 %).
  std::int32_t groups = 4;  ///< Of experts, the hottest first, that get copies in turn (depth).
  std::int32_t reach = 8;   ///< Copies by which a group's number is varied, each way (width).
};

/// Plans one layer as FlashLB does. Experts and ranks are plain numbers inside.
class FlashLayer {
 public:
  struct Group {
    std::size_t rank_count;
    std::size_t slots_per_rank;
  };

  /// Experts of each rank, [ranks][slots a rank].
  using Packs = std::vector<std::vector<std::size_t>>;

  /// `load` is [experts][parts], at least one part, all experts alike.
  FlashLayer(const FlashOptions& options, const Group& group,
             std::vector<std::vector<double>> load);

  /// The best of the plans that were tried.
  [[nodiscard]] Packs plan() const;

  /// Mean rank load / largest, 1 is level: of the parts with load, the harmonic mean.
  [[nodiscard]] double levelness(const Packs& packs) const;

 private:
  using Copies = std::vector<std::size_t>;  ///< [experts]

  /// Spare copies for experts in proportion to what they are worth, rounded to `spares` in all.
  void share_out(std::span<const std::size_t> experts, std::size_t spares, Copies& copies) const;
  [[nodiscard]] Packs pack(const Copies& copies) const;
  [[nodiscard]] double risk_with(const std::vector<double>& rank, std::size_t expert,
                                 double share) const;

  FlashOptions options_;
  Group group_;
  std::vector<std::vector<double>> load_;  ///< [experts][parts]
  std::vector<double> worth_;              ///< [experts], mean and `risk` deviations.
};

}  // namespace eplb::placement
