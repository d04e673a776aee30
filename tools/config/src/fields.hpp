#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "place.hpp"
#include "schema.hpp"
#include "section.hpp"

namespace eplb::config {

/// What tells a section's kinds apart.
inline constexpr std::string_view kKindKey = "kind";

/// Keys of a table, in its order.
template <typename Row>
[[nodiscard]] std::vector<std::string_view> keys_of(std::span<const Row> rows) {
  std::vector<std::string_view> keys;
  for (const Row& row : rows) {
    keys.push_back(row.key);
  }
  return keys;
}

/// One key of a table, and where its value goes.
struct Row {
  std::string_view key;
  Place place;
  const Range& range;  ///< Of the table.
  bool required = false;
};

/// Reads a section by its table; what is not given, or is wrong, is left alone.
void read_table(const Section& section, std::span<const Row> rows, Reading& reading);

/// The same to a struct, where such keys keep their initial values.
template <typename S>
[[nodiscard]] S read_fields(const Section& section, Fields<S> fields, Reading& reading) {
  S out;
  std::vector<Row> rows;
  for (const Field<S>& field : fields) {
    rows.push_back({.key = field.key,
                    .place = place_of(out, field),
                    .range = field.range,
                    .required = field.required});
  }
  read_table(section, rows, reading);
  return out;
}

/// The value of a key, as canonical YAML; none of a key that its struct does not keep.
template <typename S>
[[nodiscard]] std::optional<std::string> kept_text(const S& values, const Field<S>& field) {
  // A place could be written to, which nobody does here.
  return text_at(place_of(const_cast<S&>(values), field));
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
