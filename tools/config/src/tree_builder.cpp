#include "tree_builder.hpp"

#include <utility>

#include "words.hpp"

namespace eplb::config {
namespace {

constexpr std::size_t kDepthMax = 32;
constexpr std::size_t kNodesMax = 20000;
constexpr std::size_t kKeyBytesMax = 128;

}  // namespace

std::optional<Node> TreeBuilder::root() && {
  const Position start{.source = source_};
  if (node_count_ > kNodesMax) {
    reading_.reject(start, key_prefix_,
                    "more than " + std::to_string(kNodesMax) + " keys and values");
    return std::nullopt;
  }
  if (!root_.has_value() || root_->kind == NodeKind::kNull) {
    reading_.reject(start, key_prefix_,
                    key_prefix_.empty() ? "the file is empty" : "must not be empty");
    return std::nullopt;
  }
  return std::move(root_);
}

std::optional<Position> TreeBuilder::innermost_open() const {
  return open_.empty() ? std::nullopt : std::optional(open_.back().node.at);
}

void TreeBuilder::OnDocumentStart(const YAML::Mark& mark) {
  if (++document_count_ == 2) {
    reading_.complain(at(mark), key_prefix_, "a second document begins, only one is allowed");
  }
}

void TreeBuilder::OnNull(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) {
  if (ignores()) {
    return;
  }
  // yaml-cpp puts a missing value where the next token stands, often a line too low.
  const bool is_value = !open_.empty() && open_.back().awaits_value;
  add({.kind = NodeKind::kNull, .at = is_value ? open_.back().key_at : at(mark)});
}

void TreeBuilder::OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) {
  if (ignores()) {
    return;
  }
  reading_.reject(at(mark), path(), "aliases are not supported, write the value out");
  add({.kind = NodeKind::kNull, .at = at(mark)});
}

void TreeBuilder::OnScalar(const YAML::Mark& mark, const std::string& tag,
                           YAML::anchor_t /*anchor*/, const std::string& value) {
  if (ignores()) {
    return;
  }
  refuse_tag(mark, tag);
  add({.kind = NodeKind::kScalar, .at = at(mark), .quoted = tag == "!", .text = value});
}

void TreeBuilder::OnSequenceStart(const YAML::Mark& mark, const std::string& tag,
                                  YAML::anchor_t /*anchor*/, YAML::EmitterStyle::value /*style*/) {
  open(NodeKind::kList, mark, tag);
}

void TreeBuilder::OnSequenceEnd() {
  close();
}

void TreeBuilder::OnMapStart(const YAML::Mark& mark, const std::string& tag,
                             YAML::anchor_t /*anchor*/, YAML::EmitterStyle::value /*style*/) {
  open(NodeKind::kMapping, mark, tag);
}

void TreeBuilder::OnMapEnd() {
  close();
}

void TreeBuilder::OnAnchor(const YAML::Mark& mark, const std::string& /*anchor_name*/) {
  if (!ignores()) {
    reading_.complain(at(mark), path(), "anchors are not supported");
  }
}

Position TreeBuilder::at(const YAML::Mark& mark) const {
  return {.source = source_, .line = mark.line + 1, .column = mark.column + 1};
}

std::string TreeBuilder::path() const {
  std::string path = key_prefix_;
  for (const Frame& frame : open_) {
    if (frame.node.kind == NodeKind::kList) {
      path += "[" + std::to_string(frame.node.items.size()) + "]";
    } else if (frame.awaits_value && frame.key.has_value()) {
      path += (path.empty() ? "" : ".") + *frame.key;
    }
  }
  return path;
}

void TreeBuilder::refuse_tag(const YAML::Mark& mark, const std::string& tag) {
  // yaml-cpp's marks of plain and of quoted scalars.
  if (!tag.empty() && tag != "?" && tag != "!") {
    reading_.complain(at(mark), path(), "tags are not supported, got " + printable(tag));
  }
}

void TreeBuilder::open(NodeKind kind, const YAML::Mark& mark, const std::string& tag) {
  if (ignores()) {
    skipped_depth_ += skipped_depth_ > 0 ? 1 : 0;
    return;
  }
  refuse_tag(mark, tag);
  if (open_.size() >= kDepthMax) {
    too_deep_ = true;
    skipped_depth_ = 1;
    reading_.reject(at(mark), path(),
                    "nested deeper than " + std::to_string(kDepthMax) + " levels");
    return;
  }
  open_.push_back({.node = {.kind = kind, .at = at(mark)}});
}

void TreeBuilder::close() {
  if (skipped_depth_ == 1) {
    skipped_depth_ = 0;
    add({.kind = NodeKind::kNull});
    return;
  }
  if (ignores()) {
    skipped_depth_ -= skipped_depth_ > 0 ? 1 : 0;
    return;
  }
  Node node = std::move(open_.back().node);
  open_.pop_back();
  add(std::move(node));
}

void TreeBuilder::add(Node node) {
  if (++node_count_ > kNodesMax) {
    return;
  }
  if (open_.empty()) {
    root_ = std::move(node);
    return;
  }
  Frame& frame = open_.back();
  if (frame.node.kind == NodeKind::kList) {
    frame.node.items.push_back(std::move(node));
  } else if (!frame.awaits_value) {
    add_key(frame, node);
  } else {
    if (frame.key.has_value()) {
      frame.node.entries.push_back(
          {.key = std::move(*frame.key), .at = frame.key_at, .value = std::move(node)});
    }
    frame.awaits_value = false;
  }
}

void TreeBuilder::add_key(Frame& mapping, const Node& key) {
  const Entry* first = find(mapping.node, key.text);
  mapping.key_at = key.at;
  mapping.key.reset();
  if (key.kind != NodeKind::kScalar) {
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
  if (mapping.key.has_value() && first != nullptr) {
    reading_.complain(key.at, path(),
                      "duplicate key, first given in line " + std::to_string(first->at.line));
    mapping.key.reset();
  }
}

}  // namespace eplb::config
