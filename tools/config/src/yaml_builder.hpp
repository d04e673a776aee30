#pragma once

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/mark.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "reading.hpp"
#include "yaml.hpp"

namespace eplb::config {

/// Ends the parsing of a text that is deeper or larger than any configuration.
class LimitExceeded : public std::runtime_error {
 public:
  LimitExceeded(Position at, const std::string& message) : std::runtime_error(message), at_(at) {}

  [[nodiscard]] Position at() const { return at_; }

 private:
  Position at_;
};

/// Turns yaml-cpp's events into a Yaml. Every event may throw LimitExceeded.
class YamlBuilder final : public YAML::EventHandler {
 public:
  YamlBuilder(const YamlText& input, Reading& reading)
      : source_(input.source), key_prefix_(input.key_prefix), reading_(reading) {}

  /// The document; none, after a complaint, if it has no content.
  [[nodiscard]] std::optional<Yaml> root() &&;

  [[nodiscard]] std::int32_t document_count() const { return document_count_; }

  /// Where the innermost list or mapping that is still open begins.
  [[nodiscard]] std::optional<Position> innermost_open() const;

  void OnDocumentStart(const YAML::Mark& mark) override;

  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override;
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override;
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override;
  void OnSequenceEnd() override;
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value style) override;
  void OnMapEnd() override;
  void OnAnchor(const YAML::Mark& mark, const std::string& anchor_name) override;

 private:
  /// A list or mapping that is still open.
  struct Frame {
    Yaml yaml;
    bool awaits_value = false;            ///< A mapping's key was read, its value not.
    std::optional<std::string> key = {};  ///< That key; none if it was refused.
    Position key_at = {};
    std::map<std::string, std::int32_t> key_lines = {};  ///< Of all its keys so far.
  };

  /// Of a second document only its being there matters.
  [[nodiscard]] bool ignores() const { return document_count_ > 1; }

  [[nodiscard]] Position at(const YAML::Mark& mark) const;

  /// Dotted key of the value that would be added now, for complaints.
  [[nodiscard]] std::string path() const;

  void refuse_tag(const YAML::Mark& mark, const std::string& tag);
  void open(YamlKind kind, const YAML::Mark& mark, const std::string& tag);
  void close();
  void add(Yaml yaml);
  void add_key(Frame& mapping, const Yaml& key);

  std::int32_t source_;
  std::string key_prefix_;
  Reading& reading_;
  std::vector<Frame> open_;
  std::optional<Yaml> root_;
  std::int32_t document_count_ = 0;
  std::size_t value_count_ = 0;
};

}  // namespace eplb::config
