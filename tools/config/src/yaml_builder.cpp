#include "yaml_builder.hpp"

#include <utility>

#include "words.hpp"

namespace eplb::config {
namespace {

constexpr std::size_t kDepthMax = 32;
constexpr std::size_t kValuesMax = 20000;
constexpr std::size_t kKeyBytesMax = 128;

}  // namespace

std::optional<Yaml> YamlBuilder::root() && {
  const Position start{.source = source_};
  if (!root_.has_value() || root_->kind == YamlKind::kNull) {
    reading_.reject(start, key_prefix_,
                    key_prefix_.empty() ? "the file is empty" : "must not be empty");
    return std::nullopt;
  }
  return std::move(root_);
}

std::optional<Position> YamlBuilder::innermost_open() const {
  return open_.empty() ? std::nullopt : std::optional(open_.back().yaml.at);
}

void YamlBuilder::OnDocumentStart(const YAML::Mark& mark) {
  if (++document_count_ == 2) {
    reading_.complain(at(mark), key_prefix_, "a second document begins, only one is allowed");
  }
}

void YamlBuilder::OnNull(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) {
  if (ignores()) {
    return;
  }
  // yaml-cpp puts a missing value where the next token stands, often a line too low.
  const bool is_value = !open_.empty() && open_.back().awaits_value;
  add({.kind = YamlKind::kNull, .at = is_value ? open_.back().key_at : at(mark)});
}

void YamlBuilder::OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) {
  if (ignores()) {
    return;
  }
  reading_.reject(at(mark), path(), "aliases are not supported, write the value out");
  add({.kind = YamlKind::kNull, .at = at(mark)});
}

void YamlBuilder::OnScalar(const YAML::Mark& mark, const std::string& tag,
                           YAML::anchor_t /*anchor*/, const std::string& value) {
  if (ignores()) {
    return;
  }
  refuse_tag(mark, tag);
  add({.kind = YamlKind::kScalar, .at = at(mark), .quoted = tag == "!", .text = value});
}

void YamlBuilder::OnSequenceStart(const YAML::Mark& mark, const std::string& tag,
                                  YAML::anchor_t /*anchor*/, YAML::EmitterStyle::value /*style*/) {
  open(YamlKind::kList, mark, tag);
}

void YamlBuilder::OnSequenceEnd() {
  close();
}

void YamlBuilder::OnMapStart(const YAML::Mark& mark, const std::string& tag,
                             YAML::anchor_t /*anchor*/, YAML::EmitterStyle::value /*style*/) {
  open(YamlKind::kMapping, mark, tag);
}

void YamlBuilder::OnMapEnd() {
  close();
}

void YamlBuilder::OnAnchor(const YAML::Mark& mark, const std::string& /*anchor_name*/) {
  if (!ignores()) {
    reading_.complain(at(mark), path(), "anchors are not supported");
  }
}

Position YamlBuilder::at(const YAML::Mark& mark) const {
  return {.source = source_, .line = mark.line + 1, .column = mark.column + 1};
}

std::string YamlBuilder::path() const {
  std::string path = key_prefix_;
  for (const Frame& frame : open_) {
    if (frame.yaml.kind == YamlKind::kList) {
      path += "[" + std::to_string(frame.yaml.children.size()) + "]";
    } else if (frame.awaits_value && frame.key.has_value()) {
      path += (path.empty() ? "" : ".") + *frame.key;
    }
  }
  return path;
}

void YamlBuilder::refuse_tag(const YAML::Mark& mark, const std::string& tag) {
  // yaml-cpp's marks of plain and of quoted scalars.
  if (!tag.empty() && tag != "?" && tag != "!") {
    reading_.complain(at(mark), path(), "tags are not supported, got " + printable(tag));
  }
}

void YamlBuilder::open(YamlKind kind, const YAML::Mark& mark, const std::string& tag) {
  if (ignores()) {
    return;
  }
  refuse_tag(mark, tag);
  if (open_.size() >= kDepthMax) {
    throw LimitExceeded(at(mark), "nested deeper than " + std::to_string(kDepthMax) + " levels");
  }
  open_.push_back({.yaml = {.kind = kind, .at = at(mark)}});
}

void YamlBuilder::close() {
  if (ignores()) {
    return;
  }
  Yaml yaml = std::move(open_.back().yaml);
  open_.pop_back();
  add(std::move(yaml));
}

void YamlBuilder::add(Yaml yaml) {
  if (++value_count_ > kValuesMax) {
    throw LimitExceeded(yaml.at, "more than " + std::to_string(kValuesMax) + " keys and values");
  }
  if (open_.empty()) {
    root_ = std::move(yaml);
    return;
  }
  Frame& frame = open_.back();
  if (frame.yaml.kind == YamlKind::kList) {
    frame.yaml.children.push_back(std::move(yaml));
  } else if (!frame.awaits_value) {
    add_key(frame, yaml);
  } else {
    if (frame.key.has_value()) {
      yaml.key = std::move(*frame.key);
      yaml.key_at = frame.key_at;
      frame.yaml.children.push_back(std::move(yaml));
    }
    frame.awaits_value = false;
  }
}

void YamlBuilder::add_key(Frame& mapping, const Yaml& key) {
  mapping.key_at = key.at;
  mapping.key.reset();
  if (key.kind != YamlKind::kScalar) {
    reading_.complain(key.at, path(), "a key must be a word, got " + describe(key));
  } else if (key.text.size() > kKeyBytesMax) {
    reading_.complain(key.at, path(),
                      "a key has at most " + std::to_string(kKeyBytesMax) + " bytes");
  } else if (key.text == "<<") {
    reading_.complain(key.at, path(), "merge keys are not supported");
  } else {
    mapping.key = key.text;
  }
  mapping.awaits_value = true;
  if (!mapping.key.has_value()) {
    return;
  }
  const auto [first, is_new] = mapping.key_lines.emplace(key.text, key.at.line);
  if (!is_new) {
    reading_.complain(key.at, path(),
                      "duplicate key, first given in line " + std::to_string(first->second));
    mapping.key.reset();
  }
}

}  // namespace eplb::config
