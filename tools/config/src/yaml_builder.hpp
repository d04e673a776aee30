#pragma once

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/mark.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reading.hpp"
#include "yaml.hpp"

namespace eplb::config {

/// Turns yaml-cpp's events into a Yaml, within bounds of depth and size.
class YamlBuilder final : public YAML::EventHandler {
 public:
  YamlBuilder(const YamlText& input, Reading& reading)
      : source_(input.source), key_prefix_(input.key_prefix), reading_(reading) {}

  /// The document; none, after a complaint, if there was no content or too much.
  [[nodiscard]] std::optional<Yaml> root() &&;

  [[nodiscard]] std::int32_t document_count() const { return document_count_; }

  [[nodiscard]] bool too_deep() const { return too_deep_; }

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
  };

  [[nodiscard]] bool ignores() const { return document_count_ > 1 || skipped_depth_ > 0; }

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
  std::size_t skipped_depth_ = 0;  ///< Lists and mappings open below the deepest that is kept.
  bool too_deep_ = false;
};

}  // namespace eplb::config
