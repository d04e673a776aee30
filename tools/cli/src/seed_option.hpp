#pragma once

#include <cstdint>
#include <string>

#include "eplb/cli/option_values.hpp"

namespace eplb::cli {

/// The option as a seed: a decimal number below 2^64, or a commit of 40 hex digits, whose first 16
/// are taken. Anything else is a problem and yields `fallback`, as does an absent option.
[[nodiscard]] std::uint64_t read_seed(OptionValues& values, const std::string& name,
                                      std::uint64_t fallback);

}  // namespace eplb::cli
