#include "eplb/config/hardware_file.hpp"

#include <algorithm>
#include <cctype>
#include <optional>

#include "fields.hpp"
#include "include_kinds.hpp"
#include "lookup.hpp"
#include "text_file.hpp"
#include "yaml.hpp"

namespace eplb::config {
namespace {

constexpr std::string_view kKey = "hardware";
constexpr std::string_view kSources = "sources";
constexpr std::string_view kCalibration = "calibration";
constexpr std::size_t kColumns = 100;

std::string heading_of(const std::string& text) {
  std::size_t end = 0;
  while (end < text.size() && text[end] == '#') {
    end = std::min(text.find('\n', end), text.size() - 1) + 1;
  }
  return text.substr(0, end);
}

std::string text_at(const Yaml& yaml, std::string_view key) {
  const Yaml* value = find(yaml, key);
  return value != nullptr ? value->text : std::string();
}

/// `key: >-` and the text's words in lines of at most kColumns.
std::string folded(std::size_t depth, std::string_view key, std::string_view text) {
  const std::string indent(2 * depth, ' ');
  std::string out = indent + std::string(key) + ": >-\n";
  std::string line = indent + " ";
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    if (line.size() + 1 + word.size() > kColumns) {
      out += line + "\n";
      line = indent + " ";
    }
    line += " " + std::string(word);
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  return out + line + "\n";
}

bool same_letter(char left, char right) {
  return std::tolower(static_cast<unsigned char>(left)) ==
         std::tolower(static_cast<unsigned char>(right));
}

}  // namespace

HardwareResult load_hardware(const std::string& name, const LoadOptions& options) {
  Reading reading;
  const std::int32_t source = reading.add_source(
      {.name = name, .kind = SourceKind::kScenario, .directory = std::filesystem::path(".")});
  Yaml value{.kind = YamlKind::kScalar,
             .at = {.source = source},
             .quoted = true,
             .text = name,
             .key = std::string(kKey),
             .key_at = {.source = source}};
  const std::filesystem::path path =
      include_file(value, std::string(kKey), kHardwareFiles, options, reading);
  HardwareFile file{.path = path};
  if (reading.clean()) {
    file.options = read_fields<sim::HardwareOptions>({.key = std::string(kKey), .yaml = &value},
                                                     hardware_fields(), reading);
  }
  if (!reading.clean()) {
    return tl::unexpected(reading.diagnostics());
  }
  file.heading = heading_of(read_text(path).value_or(""));
  file.calibration = text_at(value, kCalibration);
  if (const Yaml* sources = find(value, kSources); sources != nullptr) {
    for (const Yaml& one : sources->children) {
      file.sources[one.key] = one.text;
    }
  }
  return file;
}

std::vector<std::string> hardware_names(const LoadOptions& options) {
  return known_names(kHardwareFiles, options);
}

bool names_device(std::string_view device, std::string_view device_of_file) {
  while (!device_of_file.empty()) {
    const std::string_view word = device_of_file.substr(0, device_of_file.find(' '));
    if (std::ranges::equal(word, device, same_letter)) {
      return true;
    }
    device_of_file.remove_prefix(std::min(word.size() + 1, device_of_file.size()));
  }
  return false;
}

std::string hardware_yaml(const HardwareFile& file) {
  std::string text = file.heading;
  for (const Field<sim::HardwareOptions>& field : hardware_fields()) {
    const auto value = kept_text(file.options, field);
    if (value.has_value() && *value != "none") {
      text += std::string(field.key) + ": " + *value + "\n";
    }
  }
  if (!file.calibration.empty()) {
    text += folded(0, kCalibration, file.calibration);
  }
  if (!file.sources.empty()) {
    text += std::string(kSources) + ":\n";
  }
  for (const Field<sim::HardwareOptions>& field : hardware_fields()) {
    if (const auto source = file.sources.find(std::string(field.key));
        source != file.sources.end()) {
      text += folded(1, field.key, source->second);
    }
  }
  return text;
}

}  // namespace eplb::config
