#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "eplb/core/options.hpp"
#include "eplb/placement/options.hpp"
#include "eplb/sim/options.hpp"
#include "eplb/sim/program/program.hpp"
#include "words.hpp"
#include "yaml.hpp"

namespace eplb::config {

/// How a key that may be absent says so.
inline constexpr std::string_view kNone = "none";

/// What a number may be.
struct Range {
  double min = 0;
  double max = std::numeric_limits<std::int32_t>::max();
  bool above_min = false;  ///< `min` itself is not allowed.
};

/// `at least 1 and at most 1023`.
[[nodiscard]] std::string describe(const Range& range);

template <typename Enum>
struct EnumName {
  Enum value;
  std::string_view name;
};

[[nodiscard]] std::span<const EnumName<WeightFormat>> enum_names(WeightFormat);
[[nodiscard]] std::span<const EnumName<ReplicaChoice>> enum_names(ReplicaChoice);
[[nodiscard]] std::span<const EnumName<sim::Noise>> enum_names(sim::Noise);
[[nodiscard]] std::span<const EnumName<Communicator>> enum_names(Communicator);
[[nodiscard]] std::span<const EnumName<Handshake>> enum_names(Handshake);
[[nodiscard]] std::span<const EnumName<OnFailure>> enum_names(OnFailure);
[[nodiscard]] std::span<const EnumName<NixlPath>> enum_names(NixlPath);
[[nodiscard]] std::span<const EnumName<HostCollectives>> enum_names(HostCollectives);
[[nodiscard]] std::span<const EnumName<LoadCounting>> enum_names(LoadCounting);
[[nodiscard]] std::span<const EnumName<ReplicaMapping>> enum_names(ReplicaMapping);
[[nodiscard]] std::span<const EnumName<sim::Port>> enum_names(sim::Port);
[[nodiscard]] std::span<const EnumName<sim::LostWhile>> enum_names(sim::LostWhile);
[[nodiscard]] std::span<const EnumName<sim::KernelKind>> enum_names(sim::KernelKind);
[[nodiscard]] std::span<const EnumName<placement::SearchMethod>> enum_names(
    placement::SearchMethod);
[[nodiscard]] std::span<const EnumName<placement::SearchObjective>> enum_names(
    placement::SearchObjective);

/// The words of an enumeration, in the order of its table.
template <typename Enum>
[[nodiscard]] std::vector<std::string_view> enum_words() {
  std::vector<std::string_view> words;
  for (const EnumName<Enum>& entry : enum_names(Enum{})) {
    words.push_back(entry.name);
  }
  return words;
}

/// What is wrong with a value and what would be right; none if it was stored.
using ScalarError = std::optional<std::string>;

// The grammar is stricter than YAML's, so that 010, 0x10, 1_000, yes and .nan are refused rather
// than read as something that was not meant. `out` is left alone on an error.
[[nodiscard]] ScalarError read_scalar(const Yaml& yaml, const Range& range, bool& out);
[[nodiscard]] ScalarError read_scalar(const Yaml& yaml, const Range& range, std::int32_t& out);
[[nodiscard]] ScalarError read_scalar(const Yaml& yaml, const Range& range, std::int64_t& out);
/// A seed: any number that fits; `range` does not count.
[[nodiscard]] ScalarError read_scalar(const Yaml& yaml, const Range& range, std::uint64_t& out);
[[nodiscard]] ScalarError read_scalar(const Yaml& yaml, const Range& range, double& out);
// A number or `none`.
[[nodiscard]] ScalarError read_scalar(const Yaml& yaml, const Range& range,
                                      std::optional<std::int32_t>& out);
[[nodiscard]] ScalarError read_scalar(const Yaml& yaml, const Range& range,
                                      std::optional<std::int64_t>& out);
[[nodiscard]] ScalarError read_scalar(const Yaml& yaml, const Range& range,
                                      std::optional<double>& out);
/// A list of numbers, each in the range.
[[nodiscard]] ScalarError read_scalar(const Yaml& yaml, const Range& range,
                                      std::vector<std::int32_t>& out);
/// One line of text.
[[nodiscard]] ScalarError read_scalar(const Yaml& yaml, const Range& range, std::string& out);

template <typename Enum>
requires std::is_enum_v<Enum>

[[nodiscard]] ScalarError read_scalar(const Yaml& yaml, const Range& /*range*/, Enum& out) {
  for (const EnumName<Enum>& entry : enum_names(Enum{})) {
    if (yaml.kind == YamlKind::kScalar && yaml.text == entry.name) {
      out = entry.value;
      return std::nullopt;
    }
  }
  return "must be one of " + join(enum_words<Enum>()) + ", got " + describe(yaml);
}

/// One of `words`, or `none`, which is kept as no text.
[[nodiscard]] ScalarError read_word(const Yaml& yaml, std::span<const std::string_view> words,
                                    std::string& out);

/// Checks text for people, which may have several lines.
[[nodiscard]] ScalarError check_free_text(const Yaml& yaml);

// A value as canonical YAML, which reads back as the same value.
[[nodiscard]] std::string value_text(bool value);
[[nodiscard]] std::string value_text(std::int32_t value);
[[nodiscard]] std::string value_text(std::int64_t value);
[[nodiscard]] std::string value_text(std::uint64_t value);
[[nodiscard]] std::string value_text(double value);
[[nodiscard]] std::string value_text(const std::optional<std::int32_t>& value);
[[nodiscard]] std::string value_text(const std::optional<std::int64_t>& value);
[[nodiscard]] std::string value_text(const std::optional<double>& value);
[[nodiscard]] std::string value_text(const std::vector<std::int32_t>& values);
[[nodiscard]] std::string value_text(const std::string& value);
/// What read_word has kept.
[[nodiscard]] std::string word_text(const std::string& word);

template <typename Enum>
requires std::is_enum_v<Enum>

[[nodiscard]] std::string value_text(Enum value) {
  for (const EnumName<Enum>& entry : enum_names(value)) {
    if (entry.value == value) {
      return std::string(entry.name);
    }
  }
  return {};
}

}  // namespace eplb::config
