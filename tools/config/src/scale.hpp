#pragma once

#include <vector>

#include "eplb/core/options.hpp"
#include "reading.hpp"
#include "section.hpp"

namespace eplb::config {

/// Reads the key `scale` of the section `parallel`; empty if it was not given.
[[nodiscard]] std::vector<ScaleEvent> read_scale(const Section& parallel_section, Reading& reading);

}  // namespace eplb::config
