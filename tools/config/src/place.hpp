#pragma once

#include <optional>
#include <string>
#include <type_traits>
#include <variant>

#include "schema.hpp"

namespace eplb::config {

/// Where `values` keeps the key of a field.
template <typename S>
[[nodiscard]] Place place_of(S& values, const Field<S>& field) {
  const auto in_values = [&values](const auto& member) -> Place {
    using Kept = std::decay_t<decltype(member)>;
    if constexpr (std::is_pointer_v<Kept>) {
      return member(values);
    } else if constexpr (std::is_same_v<Kept, Word<S>>) {
      return WordPlace{.text = &(values.*member.text), .words = member.words};
    } else {
      return member;
    }
  };
  return std::visit(in_values, field.member);
}

/// What a value there may be, to follow "must be".
[[nodiscard]] std::string allowed(const Place& place, const Range& range);

/// The value there, as canonical YAML; none of a key that its struct does not keep.
[[nodiscard]] std::optional<std::string> text_at(const Place& place);

/// Reads a value to its place. Sources of figures are not looked at.
[[nodiscard]] ScalarError read_to(const Place& place, const Range& range, const Yaml& value);

}  // namespace eplb::config
