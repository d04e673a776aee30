#pragma once

#include <cstdint>
#include <vector>

#include "eplb/sim/options.hpp"
#include "eplb/sim/random_stream.hpp"

namespace eplb::sim {

/// What ranks bring to a step, and how far apart they come to its first expert layer.
///
/// A rank's time outside the expert layers is base + per_request x requests x (1 + imbalance z) +
/// per_prefill_token x its prefill tokens, z standard normal, drawn for each step. Imbalance is in
/// truth as lasting as the requests are; the mean wait is the same, its spread over time is not.
class StepWork {
 public:
  StepWork(const ServingOptions& serving, std::uint64_t seed);

  struct Step {
    std::vector<std::int64_t> rows;  ///< By rank.
    std::int64_t row_count = 0;      ///< Of all ranks.
    double others_ns = 0;            ///< Other kernels, of the mean rank.
    double wait_ns = 0;              ///< For the last rank, in the first expert layer.
  };

  /// The next step's; valid until the next call.
  [[nodiscard]] const Step& draw(std::int32_t rank_count);

 private:
  [[nodiscard]] bool ranks_differ() const;
  void draw_rank(std::size_t rank, double& others_ms);

  ServingOptions serving_;
  RandomStream random_;
  double prefill_sigma_;  ///< Of the logarithm.
  Step step_;
};

/// Rows that a rank brings to a step on average.
[[nodiscard]] double mean_rows_per_rank(const ServingOptions& serving);

}  // namespace eplb::sim
