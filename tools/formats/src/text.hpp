#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace eplb::formats {

/// The parts one after another.
[[nodiscard]] inline std::string concat(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) {
    text += part;
  }
  return text;
}

}  // namespace eplb::formats
