#pragma once

#include <filesystem>
#include <string_view>

#include "eplb/core/placement.hpp"
#include "eplb/core/result.hpp"
#include "eplb/core/shape.hpp"

namespace eplb::formats {

/// Reads SGLang's `{"physical_to_logical_map": [layers][slots]}`; other keys are ignored, so the
/// JSON of `eplb plan` is read as well. Layers and slots must be those of `shape`, a valid one, and
/// every expert must have a slot. Errors as for parse_loads.
[[nodiscard]] Result<Placement> parse_placement(std::string_view text, std::string_view source_name,
                                                const Shape& shape);

/// As parse_placement, from a file or a pipe.
[[nodiscard]] Result<Placement> read_placement(const std::filesystem::path& path,
                                               const Shape& shape);

}  // namespace eplb::formats
