#pragma once

#include <string>
#include <string_view>

#include "eplb/formats/domains.hpp"
#include "eplb/formats/loads.hpp"
#include "eplb/formats/placements.hpp"

namespace eplb::fuzz {

// What must hold for any text: it is refused with a message that names its source, or it yields
// values that the rest of the program may rely on.

/// Name of the source that all texts are said to come from.
inline constexpr std::string_view kSource = "text";

[[nodiscard]] inline bool is_clear(const Error& error) {
  const bool is_printable =
      error.message.find_first_of(std::string("\0\n\r\x1b", 4)) == std::string::npos;
  return error.message.starts_with(kSource) && error.message.find("error: ") != std::string::npos &&
         is_printable && error.message.size() < 500;
}

[[nodiscard]] inline bool are_counts(const RealLoadMatrix& counts) {
  return counts.size() > 0 && counts.allFinite() && counts.minCoeff() >= 0 && counts.sum() < 0x1p63;
}

[[nodiscard]] inline bool loads_hold(std::string_view text) {
  const auto loads = formats::parse_loads(text, kSource);
  if (!loads) {
    return is_clear(loads.error());
  }
  bool holds = !loads->windows.empty();
  for (const RealLoadMatrix& window : loads->windows) {
    holds = holds && are_counts(window) && window.rows() == loads->windows.front().rows() &&
            window.cols() == loads->windows.front().cols();
  }
  return holds;
}

[[nodiscard]] inline bool domains_hold(std::string_view text) {
  const auto domains = formats::parse_domain_loads(text, kSource);
  if (!domains) {
    return is_clear(domains.error());
  }
  bool holds = !domains->empty();
  for (const formats::DomainLoads& domain : *domains) {
    holds = holds && are_counts(domain.counts) &&
            domain.counts.rows() == domains->front().counts.rows() &&
            domain.counts.cols() == domains->front().counts.cols();
  }
  return holds;
}

/// Against a small shape, so that a mutation hits a right one now and then.
[[nodiscard]] inline bool placements_hold(std::string_view text) {
  constexpr Shape kShape{
      .layer_count = 2, .expert_count = 3, .redundant_slot_count = 1, .rank_count = 2};
  const auto placement = formats::parse_placement(text, kSource, kShape);
  if (!placement) {
    return is_clear(placement.error());
  }
  bool holds = placement->shape() == kShape && placement->layers().size() == 2;
  for (const LayerPlacement& layer : placement->layers()) {
    for (const std::int32_t replicas : layer.replica_counts()) {
      holds = holds && replicas >= 1;
    }
  }
  return holds;
}

}  // namespace eplb::fuzz
