#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>

#include "schema.hpp"
#include "words.hpp"

namespace eplb::config {

// What a value of a type may be, to follow "must be".
[[nodiscard]] inline std::string allowed(bool /*type*/, const Range& /*range*/) {
  return "true or false";
}

[[nodiscard]] inline std::string allowed(const std::string& /*type*/, const Range& /*range*/) {
  return "text";
}

[[nodiscard]] inline std::string allowed(std::int32_t /*type*/, const Range& range) {
  return "a whole number, " + describe(range);
}

[[nodiscard]] inline std::string allowed(std::int64_t /*type*/, const Range& range) {
  return "a whole number, " + describe(range);
}

[[nodiscard]] inline std::string allowed(std::uint64_t /*type*/, const Range& /*range*/) {
  return "a whole number from 0 to 2^64 - 1";
}

[[nodiscard]] inline std::string allowed(double /*type*/, const Range& range) {
  return "a number, " + describe(range);
}

[[nodiscard]] inline std::string allowed(const std::optional<double>& /*type*/,
                                         const Range& range) {
  return "a number, " + describe(range) + ", or none";
}

template <typename Enum>
requires std::is_enum_v<Enum>

[[nodiscard]] std::string allowed(Enum /*type*/, const Range& /*range*/) {
  return "one of " + join(enum_words<Enum>());
}

/// The same for a key.
template <typename S>
[[nodiscard]] std::string allowed(const Field<S>& field) {
  const auto of_member = [&](const auto& member) -> std::string {
    using Kept = std::decay_t<decltype(member)>;
    if constexpr (std::is_member_object_pointer_v<Kept>) {
      return allowed(S{}.*member, field.range);
    } else if constexpr (std::is_same_v<Kept, FreeText>) {
      return "text";
    } else if constexpr (std::is_same_v<Kept, FigureSources>) {
      return "a mapping from keys to texts";
    } else {
      return std::string(member.type);
    }
  };
  return std::visit(of_member, field.member);
}

}  // namespace eplb::config
