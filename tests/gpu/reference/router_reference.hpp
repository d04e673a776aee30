#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "eplb/gpu/router.hpp"

namespace eplb::gpu::test {

/// What a router is given, as plain values of the host.
struct RouterCase {
  RouterRule rule;
  std::vector<float> logits;       ///< [rows, experts]
  std::vector<float> choice_bias;  ///< [experts], or empty.
};

/// Experts and weights, [rows, top_k], best first; before mapping and padding.
struct RouterPicks {
  std::vector<std::int64_t> logical_ids;
  std::vector<float> weights;
};

/// Sorts all experts of each row. Shares with the kernel the score of a logit and nothing else.
[[nodiscard]] RouterPicks router_reference(const RouterCase& router);

}  // namespace eplb::gpu::test
