#pragma once

#include <cstddef>
#include <optional>

#include "comparison.hpp"
#include "eplb/placement/search/search.hpp"

namespace eplb::cli {

/// How much better than the base a candidate is by one objective, from pairs of runs on the same
/// seeds: what the seeds have in common cancels in each pair.
struct Advantage {
  double mean = 0;  ///< Of the candidate's own runs, in the objective's unit.
  /// The better share of the base's value, 0.05 for 5 % better; none where the base has 0.
  std::optional<Gain> gain;
  /// Probability that it is better, by Student's t: 1 or 0 where all pairs differ by the same, 1/2
  /// where they do not differ; none with one seed.
  std::optional<double> better;
};

/// Of the objective at `index` of each sample; samples on the same seeds in the same order.
[[nodiscard]] Advantage advantage_of(const placement::Samples& base,
                                     const placement::Samples& samples, std::size_t index,
                                     placement::SearchObjective objective);

}  // namespace eplb::cli
