#pragma once

#include <span>
#include <string>
#include <string_view>

namespace eplb::cli {

/// "; did you mean 'NAME'?" with the name nearest to what was given, the first of equals; empty if
/// none is near enough to be a slip.
[[nodiscard]] std::string did_you_mean(std::string_view given, std::span<const std::string> names);

}  // namespace eplb::cli
