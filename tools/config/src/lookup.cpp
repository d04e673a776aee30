#include "lookup.hpp"

#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "scalar.hpp"
#include "text_file.hpp"
#include "words.hpp"

namespace eplb::config {
namespace {

constexpr std::string_view kExtension = ".yaml";
constexpr std::string_view kNameKey = "name";

bool is_path(const std::string& value) {
  return value.find('/') != std::string::npos || value.ends_with(kExtension);
}

/// Where the file of this name lies: in the first directory that has one; empty if none has.
std::filesystem::path find_named(const std::string& name, const IncludeKind& kind,
                                 const LoadOptions& options) {
  for (const std::filesystem::path& directory : options.config_dirs) {
    std::filesystem::path candidate = directory / kind.folder / (name + std::string(kExtension));
    std::error_code error;
    if (std::filesystem::exists(candidate, error)) {
      return candidate;
    }
  }
  return {};
}

/// The file that `value` means, or empty after a rejection.
std::filesystem::path locate(const Yaml& value, const std::string& key, const IncludeKind& kind,
                             const LoadOptions& options, Reading& reading) {
  std::string text;
  if (ScalarError error = read_scalar(value, {}, text); error.has_value() || text.empty()) {
    reading.reject(value.at, key, "must be a name, a path or a mapping, got " + describe(value));
    return {};
  }
  if (is_path(text)) {
    return reading.source(value.at).directory / text;
  }
  std::filesystem::path file = find_named(text, kind, options);
  if (file.empty()) {
    const std::vector<std::string> names = known_names(kind, options);
    reading.reject(
        value.at, key,
        unknown(std::string(kind.noun) + " \"" + printable(text) + "\"", text, views(names)));
  }
  return file;
}

}  // namespace

std::vector<std::string> known_names(const IncludeKind& kind, const LoadOptions& options) {
  std::set<std::string> names;
  for (const std::filesystem::path& directory : options.config_dirs) {
    std::error_code error;
    std::filesystem::directory_iterator files(directory / kind.folder, error);
    for (; !error && files != std::filesystem::directory_iterator(); files.increment(error)) {
      if (files->path().extension() == kExtension) {
        names.insert(files->path().stem().string());
      }
    }
  }
  return {names.begin(), names.end()};
}

std::filesystem::path include_file(Yaml& value, const std::string& key, const IncludeKind& kind,
                                   const LoadOptions& options, Reading& reading) {
  if (value.kind == YamlKind::kMapping || !reading.sound({key})) {
    return {};
  }
  reading.set_position(key, value.at);
  std::filesystem::path file = locate(value, key, kind, options, reading);
  if (file.empty()) {
    return {};
  }
  const auto text = read_text(file);
  if (!text.has_value()) {
    reading.reject(value.at, key, file.string() + " " + text.error());
    return {};
  }
  const std::int32_t source = reading.add_source(
      {.name = file.string(), .kind = SourceKind::kIncluded, .directory = file.parent_path()});
  std::optional<Yaml> content =
      parse_yaml({.text = *text, .source = source, .key_prefix = key}, reading);
  if (!content.has_value()) {
    return {};
  }
  if (kind.has_name && content->kind == YamlKind::kMapping && find(*content, kNameKey) == nullptr) {
    content->children.push_back({.kind = YamlKind::kScalar,
                                 .at = content->at,
                                 .quoted = true,
                                 .text = file.stem().string(),
                                 .key = std::string(kNameKey),
                                 .key_at = content->at});
  }
  content->key = std::move(value.key);
  content->key_at = value.key_at;
  value = std::move(*content);
  return file;
}

}  // namespace eplb::config
