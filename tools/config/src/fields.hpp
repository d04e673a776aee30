#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

#include "allowed.hpp"
#include "schema.hpp"
#include "section.hpp"

namespace eplb::config {

/// What tells a section's kinds apart.
inline constexpr std::string_view kKindKey = "kind";

/// Keys of a table, in its order.
template <typename S>
[[nodiscard]] std::vector<std::string_view> keys_of(Fields<S> fields) {
  std::vector<std::string_view> keys;
  for (const Field<S>& field : fields) {
    keys.push_back(field.key);
  }
  return keys;
}

/// Checks a mapping from some of `figures` to text for people.
void check_figure_sources(const Yaml& yaml, const std::string& key,
                          std::span<const std::string_view> figures, Reading& reading);

/// Reads one key into its struct. `value` is null if it was not given.
template <typename S>
void read_field(const Section& section, Fields<S> fields, const Field<S>& field, const Yaml* value,
                S& out, Reading& reading) {
  const std::string key = section.key_of(field.key);
  if (!reading.sound({key})) {
    return;
  }
  if (value == nullptr) {
    if (field.required) {
      const bool given = section.yaml != nullptr;
      reading.reject(given ? section.yaml->at : reading.position(key), key,
                     "is missing, must be " + allowed(field));
    }
    return;
  }
  const auto read = [&](const auto& member) -> ScalarError {
    using Kept = std::decay_t<decltype(member)>;
    if constexpr (std::is_member_object_pointer_v<Kept>) {
      return read_scalar(*value, field.range, out.*member);
    } else if constexpr (std::is_same_v<Kept, Word<S>>) {
      return read_word(*value, member.words, out.*member.text);
    } else if constexpr (std::is_same_v<Kept, FreeText>) {
      return check_free_text(*value);
    } else if constexpr (std::is_same_v<Kept, FigureSources>) {
      std::vector<std::string_view> figures = keys_of(fields);
      std::erase(figures, field.key);
      check_figure_sources(*value, key, figures, reading);
    }
    return std::nullopt;
  };
  if (ScalarError error = std::visit(read, field.member); error.has_value()) {
    reading.reject(value->at, key, *error);
  }
}

/// Reads a section by its table; keys that are not given, or are wrong, keep their initial values.
template <typename S>
[[nodiscard]] S read_fields(const Section& section, Fields<S> fields, Reading& reading) {
  S out;
  std::vector<std::string_view> keys = keys_of(fields);
  if (!section.kind.empty()) {
    keys.push_back(kKindKey);
  }
  const std::vector<const Yaml*> values = values_of(section, keys, reading);
  for (std::size_t index = 0; index < fields.size(); ++index) {
    read_field(section, fields, fields[index], values[index], out, reading);
  }
  return out;
}

/// A member as text. Not inlined, since GCC 12 would look through it at an S in its caller and warn
/// of members of types that S does not have, which a visit names but never meets.
template <typename S, typename M>
[[gnu::noinline]] std::string member_text(const S& values, M S::*member) {
  return value_text(values.*member);
}

/// The value of a key, as canonical YAML; none of a key that its struct does not keep.
template <typename S>
[[nodiscard]] std::optional<std::string> kept_text(const S& values, const Field<S>& field) {
  const auto of_member = [&](const auto& member) -> std::optional<std::string> {
    using Kept = std::decay_t<decltype(member)>;
    if constexpr (std::is_member_object_pointer_v<Kept>) {
      return member_text(values, member);
    } else if constexpr (std::is_same_v<Kept, Word<S>>) {
      return word_text(values.*member.text);
    }
    return std::nullopt;
  };
  return std::visit(of_member, field.member);
}

/// The name that the section's key `kind` gives, one of `names`; none after a rejection.
[[nodiscard]] std::optional<std::string_view> read_kind_name(
    const Section& section, std::span<const std::string_view> names, Reading& reading);

/// Reads a section by the table of the kind that it names; the first kind if it was not given.
template <typename Variant, typename... S>
[[nodiscard]] Variant read_kind(Section section, const std::tuple<Kind<S>...>& kinds,
                                Reading& reading) {
  Variant out;
  const auto each = [&](const auto& visit) {
    std::apply([&](const auto&... kind) { (visit(kind), ...); }, kinds);
  };
  std::vector<std::string_view> names;
  each([&](const auto& kind) { names.push_back(kind.name); });
  const auto name = read_kind_name(section, names, reading);
  if (!name.has_value()) {
    return out;
  }
  section.kind = *name;
  each([&](const auto& kind) {
    for (const auto& field : kind.fields) {
      section.foreign.push_back({.key = field.key, .kind = kind.name});
    }
  });
  const auto read_if_named = [&]<typename One>(const Kind<One>& kind) {
    if (kind.name == *name) {
      out = read_fields<One>(section, kind.fields, reading);
    }
  };
  each(read_if_named);
  return out;
}

}  // namespace eplb::config
