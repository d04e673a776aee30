#pragma once

#include <optional>
#include <string>
#include <vector>

#include "eplb/placement/options.hpp"
#include "eplb/sim/options.hpp"
#include "reading.hpp"
#include "section.hpp"
#include "yaml.hpp"

namespace eplb::config {

/// What stands before an option of a policy among the axes of a search.
inline constexpr std::string_view kPolicyOptionPrefix = "policy.";

/// An axis of a search, with where it was written.
struct WrittenAxis {
  std::string name;  ///< As it was written, below `search.axes`.
  std::string key;   ///< What it stands for, as in placement::SearchAxis.
  Position at;       ///< Of its name.
  std::vector<Yaml> values;
};

/// The axes of the section, each value known to be one, though not to be one that its key takes.
[[nodiscard]] std::vector<WrittenAxis> read_axes(const Section& search, Reading& reading);

/// All of the section. `axes` are its axes, as read_axes has read them.
[[nodiscard]] placement::SearchOptions read_search(const Section& search,
                                                   const std::vector<WrittenAxis>& axes,
                                                   Reading& reading);

/// Rules between keys of the section, and with keys of `run`.
void check_search(const placement::SearchOptions& search, const sim::RunOptions& run,
                  Reading& reading);

}  // namespace eplb::config
