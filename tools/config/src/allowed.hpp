#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "schema.hpp"
#include "words.hpp"

namespace eplb::config {

template <typename T>
struct IsOptional : std::false_type {};

template <typename T>
struct IsOptional<std::optional<T>> : std::true_type {};

/// What a value of the type T may be, to follow "must be".
template <typename T>
[[nodiscard]] std::string allowed_of(const Range& range) {
  if constexpr (std::is_same_v<T, bool>) {
    return "true or false";
  } else if constexpr (std::is_same_v<T, std::string>) {
    return "text";
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    return "a whole number from 0 to 2^64 - 1";
  } else if constexpr (std::is_same_v<T, double>) {
    return "a number, " + describe(range);
  } else if constexpr (std::is_same_v<T, std::vector<std::int32_t>>) {
    return "a list of whole numbers, each " + describe(range);
  } else if constexpr (IsOptional<T>::value) {
    return allowed_of<typename T::value_type>(range) + ", or none";
  } else if constexpr (std::is_enum_v<T>) {
    return "one of " + join(enum_words<T>());
  } else {
    static_assert(std::is_integral_v<T>);
    return "a whole number, " + describe(range);
  }
}

/// The same for a key.
template <typename S>
[[nodiscard]] std::string allowed(const Field<S>& field) {
  const auto of_member = [&](const auto& member) -> std::string {
    using Kept = std::decay_t<decltype(member)>;
    if constexpr (std::is_member_object_pointer_v<Kept>) {
      return allowed_of<std::remove_cvref_t<decltype(std::declval<S>().*member)>>(field.range);
    } else if constexpr (std::is_same_v<Kept, Word<S>>) {
      return "one of " + join(member.words) + ", or none";
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
