#include "scalar.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "eplb/core/communicator.hpp"
#include "text_check.hpp"

namespace eplb::config {
namespace {

constexpr std::array kWeightFormats = std::to_array<EnumName<WeightFormat>>({
    {WeightFormat::kBf16, "bf16"},
    {WeightFormat::kFp8Block128, "fp8_block128"},
    {WeightFormat::kMxfp8, "mxfp8"},
    {WeightFormat::kMxfp4, "mxfp4"},
    {WeightFormat::kNvfp4, "nvfp4"},
    {WeightFormat::kInt4Group32, "int4_group32"},
});

constexpr std::array kReplicaChoices = std::to_array<EnumName<ReplicaChoice>>({
    {ReplicaChoice::kHash, "hash"},
    {ReplicaChoice::kSalted, "salted"},
    {ReplicaChoice::kShares, "shares"},
    {ReplicaChoice::kExact, "exact"},
    {ReplicaChoice::kNearest, "nearest"},
});

constexpr std::array kKernelKinds = std::to_array<EnumName<sim::KernelKind>>({
    {sim::KernelKind::kPlain, "plain"},
    {sim::KernelKind::kGang, "gang"},
    {sim::KernelKind::kRendezvous, "rendezvous"},
    {sim::KernelKind::kGangRendezvous, "gang_rendezvous"},
});

constexpr std::array kNoises = std::to_array<EnumName<sim::Noise>>({
    {sim::Noise::kMultinomial, "multinomial"},
    {sim::Noise::kNone, "none"},
});

constexpr EnumName<Communicator> named(Communicator communicator) {
  return {communicator, to_string(communicator)};
}

constexpr std::array kCommunicators = {
    named(Communicator::kAuto),      named(Communicator::kSymmMem), named(Communicator::kNixl),
    named(Communicator::kTorchNccl), named(Communicator::kPynccl),  named(Communicator::kTorchGloo),
};

constexpr std::array kHandshakes = std::to_array<EnumName<Handshake>>({
    {Handshake::kStatuses, "statuses"},
    {Handshake::kBarriers, "barriers"},
});

constexpr std::array kOnFailures = std::to_array<EnumName<OnFailure>>({
    {OnFailure::kKeepServing, "keep_serving"},
    {OnFailure::kRaise, "raise"},
});

constexpr std::array kNixlPaths = std::to_array<EnumName<NixlPath>>({
    {NixlPath::kAuto, "auto"},
    {NixlPath::kNvlink, "nvlink"},
    {NixlPath::kNetwork, "network"},
    {NixlPath::kTcp, "tcp"},
});

constexpr std::array kLoadCountings = std::to_array<EnumName<LoadCounting>>({
    {LoadCounting::kLogical, "logical"},
    {LoadCounting::kPhysical, "physical"},
    {LoadCounting::kBoth, "both"},
});

constexpr std::array kReplicaMappings = std::to_array<EnumName<ReplicaMapping>>({
    {ReplicaMapping::kFused, "fused"},
    {ReplicaMapping::kSeparate, "separate"},
});

constexpr std::array kHostCollectives = std::to_array<EnumName<HostCollectives>>({
    {HostCollectives::kSharedMemory, "shared_memory"},
    {HostCollectives::kTree, "tree"},
    {HostCollectives::kRing, "ring"},
});

constexpr std::array kPorts = std::to_array<EnumName<sim::Port>>({
    {sim::Port::kNvlink, "nvlink"},
    {sim::Port::kNetwork, "network"},
});

constexpr std::array kLostMoments = std::to_array<EnumName<sim::LostWhile>>({
    {sim::LostWhile::kAny, "any"},
    {sim::LostWhile::kStarting, "starting"},
    {sim::LostWhile::kIdle, "idle"},
    {sim::LostWhile::kAggregating, "aggregating"},
    {sim::LostWhile::kPlanning, "planning"},
    {sim::LostWhile::kMoving, "moving"},
    {sim::LostWhile::kAborting, "aborting"},
});

constexpr std::array kSearchMethods = std::to_array<EnumName<placement::SearchMethod>>({
    {placement::SearchMethod::kGrid, "grid"},
    {placement::SearchMethod::kRandom, "random"},
    {placement::SearchMethod::kSuccessiveHalving, "successive_halving"},
});

constexpr EnumName<placement::SearchObjective> named(placement::SearchObjective objective) {
  return {objective, placement::to_string(objective)};
}

constexpr std::array kSearchObjectives = {
    named(placement::SearchObjective::kThroughput), named(placement::SearchObjective::kP99Step),
    named(placement::SearchObjective::kMemory), named(placement::SearchObjective::kMovedBytes)};

constexpr std::string_view kDigits = "0123456789";

/// Removes leading digits from `text` and returns them.
std::string_view take_digits(std::string_view& text) {
  const std::string_view digits = text.substr(0, text.find_first_not_of(kDigits));
  text.remove_prefix(digits.size());
  return digits;
}

bool take(std::string_view& text, std::string_view characters) {
  const bool found = !text.empty() && characters.find(text.front()) != std::string_view::npos;
  text.remove_prefix(found ? 1 : 0);
  return found;
}

/// -?(0|[1-9][0-9]*)
bool take_integer(std::string_view& text) {
  take(text, "-");
  const std::string_view digits = take_digits(text);
  return !digits.empty() && (digits.size() == 1 || digits.front() != '0');
}

bool is_integer(const Yaml& yaml) {
  std::string_view rest = yaml.text;
  return yaml.kind == YamlKind::kScalar && !yaml.quoted && take_integer(rest) && rest.empty();
}

/// An integer, then perhaps a fraction, then perhaps an exponent, all of decimal digits.
bool is_number(const Yaml& yaml) {
  std::string_view rest = yaml.text;
  if (yaml.kind != YamlKind::kScalar || yaml.quoted || !take_integer(rest)) {
    return false;
  }
  if (take(rest, ".") && take_digits(rest).empty()) {
    return false;
  }
  if (take(rest, "eE")) {
    take(rest, "+-");
    if (take_digits(rest).empty()) {
      return false;
    }
  }
  return rest.empty();
}

bool contains(const Range& range, double value) {
  return value <= range.max && (range.above_min ? value > range.min : value >= range.min);
}

template <typename Number>
bool convert(const std::string& text, Number& out) {
  const char* const end = text.data() + text.size();
  return std::from_chars(text.data(), end, out).ec == std::errc();
}

/// A number, or nothing if the text says so.
template <typename Number>
ScalarError read_optional(const Yaml& yaml, const Range& range, std::optional<Number>& out) {
  if (yaml.kind == YamlKind::kScalar && yaml.text == kNone) {
    out.reset();
    return std::nullopt;
  }
  Number value{};
  ScalarError error = read_scalar(yaml, range, value);
  if (!error.has_value()) {
    out = value;
  }
  return error;
}

template <typename Number>
std::string optional_text(const std::optional<Number>& value) {
  return value.has_value() ? value_text(*value) : std::string(kNone);
}

std::string outside(const Range& range, const Yaml& yaml) {
  return "must be " + describe(range) + ", got " + describe(yaml);
}

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kOthers = "0123456789_-./";
constexpr auto kReserved =
    std::to_array<std::string_view>({"true", "false", "null", "yes", "no", "on", "off", "y", "n"});

/// Whether YAML readers of any version take `value`, without quotes, for itself: a word of letters,
/// digits and a few marks, and not one of the words for true, false and nothing.
bool is_plain(const std::string& value) {
  std::string lower = value;
  std::ranges::transform(lower, lower.begin(), [](char character) {
    const bool upper = character >= 'A' && character <= 'Z';
    return upper ? static_cast<char>(character - 'A' + 'a') : character;
  });
  const auto is_letter = [&](char character) {
    return kLetters.find(character) != std::string_view::npos;
  };
  return !lower.empty() && is_letter(lower.front()) &&
         std::ranges::all_of(lower,
                             [&](char character) {
                               return is_letter(character) ||
                                      kOthers.find(character) != std::string_view::npos;
                             }) &&
         std::ranges::find(kReserved, lower) == kReserved.end();
}

}  // namespace

std::span<const EnumName<placement::SearchMethod>> enum_names(placement::SearchMethod) {
  return kSearchMethods;
}

std::span<const EnumName<placement::SearchObjective>> enum_names(placement::SearchObjective) {
  return kSearchObjectives;
}

std::span<const EnumName<WeightFormat>> enum_names(WeightFormat) {
  return kWeightFormats;
}

std::span<const EnumName<ReplicaChoice>> enum_names(ReplicaChoice) {
  return kReplicaChoices;
}

std::span<const EnumName<sim::KernelKind>> enum_names(sim::KernelKind) {
  return kKernelKinds;
}

std::span<const EnumName<sim::Noise>> enum_names(sim::Noise) {
  return kNoises;
}

std::span<const EnumName<Communicator>> enum_names(Communicator) {
  return kCommunicators;
}

std::span<const EnumName<Handshake>> enum_names(Handshake) {
  return kHandshakes;
}

std::span<const EnumName<OnFailure>> enum_names(OnFailure) {
  return kOnFailures;
}

std::span<const EnumName<NixlPath>> enum_names(NixlPath) {
  return kNixlPaths;
}

std::span<const EnumName<HostCollectives>> enum_names(HostCollectives) {
  return kHostCollectives;
}

std::span<const EnumName<LoadCounting>> enum_names(LoadCounting) {
  return kLoadCountings;
}

std::span<const EnumName<ReplicaMapping>> enum_names(ReplicaMapping) {
  return kReplicaMappings;
}

std::span<const EnumName<sim::Port>> enum_names(sim::Port) {
  return kPorts;
}

std::span<const EnumName<sim::LostWhile>> enum_names(sim::LostWhile) {
  return kLostMoments;
}

std::string describe(const Range& range) {
  return std::string(range.above_min ? "above " : "at least ") + number_text(range.min) +
         " and at most " + number_text(range.max);
}

ScalarError read_scalar(const Yaml& yaml, const Range& /*range*/, bool& out) {
  const bool is_true = yaml.text == "true";
  if (yaml.kind != YamlKind::kScalar || yaml.quoted || !(is_true || yaml.text == "false")) {
    return "must be true or false, got " + describe(yaml);
  }
  out = is_true;
  return std::nullopt;
}

ScalarError read_scalar(const Yaml& yaml, const Range& range, std::int64_t& out) {
  if (!is_integer(yaml)) {
    return "must be a whole number in decimal digits, got " + describe(yaml);
  }
  std::int64_t value = 0;
  if (!convert(yaml.text, value) || !contains(range, static_cast<double>(value))) {
    return outside(range, yaml);
  }
  out = value;
  return std::nullopt;
}

ScalarError read_scalar(const Yaml& yaml, const Range& range, std::int32_t& out) {
  std::int64_t wide = 0;
  ScalarError error = read_scalar(yaml, range, wide);
  if (!error.has_value()) {
    out = static_cast<std::int32_t>(wide);
  }
  return error;
}

ScalarError read_scalar(const Yaml& yaml, const Range& /*range*/, std::uint64_t& out) {
  if (!is_integer(yaml) || !convert(yaml.text, out)) {
    return "must be a whole number from 0 to 2^64 - 1, got " + describe(yaml);
  }
  return std::nullopt;
}

ScalarError read_scalar(const Yaml& yaml, const Range& range, double& out) {
  if (!is_number(yaml)) {
    return "must be a decimal number, got " + describe(yaml);
  }
  double value = 0;
  if (!convert(yaml.text, value) || !contains(range, value)) {
    return outside(range, yaml);
  }
  out = value;
  return std::nullopt;
}

ScalarError read_scalar(const Yaml& yaml, const Range& range, std::optional<std::int32_t>& out) {
  return read_optional(yaml, range, out);
}

ScalarError read_scalar(const Yaml& yaml, const Range& range, std::optional<std::int64_t>& out) {
  return read_optional(yaml, range, out);
}

ScalarError read_scalar(const Yaml& yaml, const Range& range, std::optional<double>& out) {
  return read_optional(yaml, range, out);
}

ScalarError read_scalar(const Yaml& yaml, const Range& range, std::vector<std::int32_t>& out) {
  if (yaml.kind != YamlKind::kList) {
    return "must be a list of numbers, got " + describe(yaml);
  }
  std::vector<std::int32_t> values;
  for (const Yaml& item : yaml.children) {
    std::int32_t value = 0;
    if (ScalarError error = read_scalar(item, range, value); error.has_value()) {
      return error;
    }
    values.push_back(value);
  }
  out = std::move(values);
  return std::nullopt;
}

ScalarError read_scalar(const Yaml& yaml, const Range& /*range*/, std::string& out) {
  if (ScalarError error = check_free_text(yaml); error.has_value()) {
    return error;
  }
  if (yaml.text.find_first_of("\n\r\t") != std::string::npos) {
    return "must be text of one line, got " + describe(yaml);
  }
  out = yaml.text;
  return std::nullopt;
}

ScalarError read_word(const Yaml& yaml, std::span<const std::string_view> words, std::string& out) {
  const bool is_none = yaml.text == kNone;
  if (yaml.kind != YamlKind::kScalar || !(is_none || std::ranges::count(words, yaml.text) > 0)) {
    return "must be one of " + join(words) + ", or none, got " + describe(yaml);
  }
  out = is_none ? std::string() : yaml.text;
  return std::nullopt;
}

ScalarError check_free_text(const Yaml& yaml) {
  if (yaml.kind != YamlKind::kScalar || find_bad_byte(yaml.text).has_value()) {
    return "must be text without control characters, got " + describe(yaml);
  }
  return std::nullopt;
}

std::string value_text(bool value) {
  return value ? "true" : "false";
}

std::string value_text(std::int32_t value) {
  return std::to_string(value);
}

std::string value_text(std::int64_t value) {
  return std::to_string(value);
}

std::string value_text(std::uint64_t value) {
  return std::to_string(value);
}

std::string value_text(double value) {
  return number_text(value);
}

std::string value_text(const std::optional<std::int32_t>& value) {
  return optional_text(value);
}

std::string value_text(const std::optional<std::int64_t>& value) {
  return optional_text(value);
}

std::string value_text(const std::optional<double>& value) {
  return optional_text(value);
}

std::string word_text(const std::string& word) {
  return word.empty() ? std::string(kNone) : value_text(word);
}

std::string value_text(const std::vector<std::int32_t>& values) {
  std::string text;
  for (const std::int32_t value : values) {
    text += (text.empty() ? "" : ", ") + std::to_string(value);
  }
  return "[" + text + "]";
}

std::string value_text(const std::string& value) {
  if (is_plain(value)) {
    return value;
  }
  std::string quoted;
  for (const char character : value) {
    quoted += (character == '"' || character == '\\') ? "\\" : "";
    quoted += character;
  }
  return "\"" + escaped(quoted) + "\"";
}

}  // namespace eplb::config
