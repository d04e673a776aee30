#include "reading.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "words.hpp"

namespace eplb::config {
namespace {

/// The section that a dotted key stands in; empty for a key of the root.
std::string_view section_of(std::string_view key) {
  const std::size_t dot = key.rfind('.');
  return dot == std::string_view::npos ? std::string_view() : key.substr(0, dot);
}

}  // namespace

std::int32_t Reading::add_source(Source source) {
  sources_.push_back(std::move(source));
  return static_cast<std::int32_t>(sources_.size()) - 1;
}

const Source& Reading::source(Position at) const {
  return sources_[static_cast<std::size_t>(at.source)];
}

void Reading::complain(Position at, std::string_view key, std::string_view message) {
  // Keys and names come from files; nothing in them may be obeyed by a terminal.
  problems_.push_back({.at = at, .key = escaped(key), .message = escaped(message)});
}

void Reading::reject(Position at, std::string_view key, std::string_view message) {
  complain(at, key, message);
  rejected_.emplace(key);
}

Position Reading::position(std::string_view key) const {
  for (; !key.empty(); key = section_of(key)) {
    if (const auto found = positions_.find(key); found != positions_.end()) {
      return found->second;
    }
  }
  return {};
}

WrittenKey Reading::latest(const Keys& keys) const {
  std::vector<WrittenKey> written;
  for (const std::string_view key : keys) {
    if (const auto found = positions_.find(key); found != positions_.end()) {
      written.push_back({.key = key, .at = found->second});
    }
  }
  if (written.empty()) {
    return {.key = keys.front(), .at = position(keys.front())};
  }
  const bool one_source = std::ranges::all_of(
      written, [&](const WrittenKey& one) { return one.at.source == written.front().at.source; });
  if (!one_source) {
    for (WrittenKey& one : written) {
      const bool included = source(one.at).kind == SourceKind::kIncluded;
      one.at = included ? position(one.key.substr(0, one.key.find('.'))) : one.at;
    }
  }
  return *std::ranges::max_element(written, {}, [&](const WrittenKey& one) {
    return std::tuple(one.at.source, one.at.line, one.at.column);
  });
}

bool Reading::sound(const Keys& keys) const {
  return std::ranges::all_of(keys, [&](std::string_view key) {
    for (; !key.empty(); key = section_of(key)) {
      if (rejected_.find(key) != rejected_.end()) {
        return false;
      }
    }
    return true;
  });
}

std::vector<Diagnostic> Reading::diagnostics() const {
  std::vector<Problem> ordered = problems_;
  std::ranges::stable_sort(ordered, {}, [](const Problem& problem) {
    return std::tuple(problem.at.source, problem.at.line, problem.at.column);
  });
  std::vector<Diagnostic> diagnostics;
  diagnostics.reserve(ordered.size());
  for (Problem& problem : ordered) {
    const Source& from = source(problem.at);
    const bool has_lines = from.kind != SourceKind::kOverride;
    diagnostics.push_back({.file = from.name,
                           .line = has_lines ? problem.at.line : 0,
                           .column = has_lines ? problem.at.column : 0,
                           .key = std::move(problem.key),
                           .message = std::move(problem.message)});
  }
  return diagnostics;
}

}  // namespace eplb::config
