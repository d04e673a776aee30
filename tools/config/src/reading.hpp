#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "eplb/config/diagnostic.hpp"

namespace eplb::config {

/// Kinds of text that configuration comes from, in the order in which one overrules another.
enum class SourceKind : std::uint8_t { kIncluded, kScenario, kOverride };

struct Source {
  std::string name;  ///< As a diagnostic prints it.
  SourceKind kind = SourceKind::kScenario;
  std::filesystem::path directory;  ///< What its relative paths are relative to.
};

/// Where something was written; line and column from 1.
struct Position {
  std::int32_t source = 0;  ///< Index that Reading::add_source gave.
  std::int32_t line = 1;
  std::int32_t column = 1;
};

/// Dotted from the root of the scenario, wherever they were written.
using Keys = std::vector<std::string_view>;

/// A key and where it was written.
struct WrittenKey {
  std::string_view key;
  Position at;
};

/// What one load has found so far: the sources, where each key was written, and what is wrong.
class Reading {
 public:
  /// The first source is the scenario; diagnostics are ordered by source, then position.
  std::int32_t add_source(Source source);

  [[nodiscard]] const Source& source(Position at) const;

  /// Something is wrong that makes no value unusable.
  void complain(Position at, std::string_view key, std::string_view message);

  /// The value of `key` is unusable: no rule may look at it, nor at what is below it.
  void reject(Position at, std::string_view key, std::string_view message);

  void note(std::string message) { notes_.push_back(std::move(message)); }

  /// The first call for a key counts: what the scenario wrote under `model` stays the position of
  /// `model` when a file's mapping has taken its place.
  void set_position(std::string_view key, Position at) { positions_.emplace(key, at); }

  /// Where `key` was written; if it was not, its section; failing that, the scenario's start.
  [[nodiscard]] Position position(std::string_view key) const;

  /// The one of these keys that was written last: an override is later than the scenario, which is
  /// later than the files that it includes. Where files disagree with one another or with the
  /// scenario, the place that chose the file counts, since that is what a person would change. The
  /// first key, with its section's position, if none was written.
  [[nodiscard]] WrittenKey latest(const Keys& keys) const;

  /// Neither these keys nor a section above them was rejected.
  [[nodiscard]] bool sound(const Keys& keys) const;

  [[nodiscard]] bool clean() const { return problems_.empty(); }

  [[nodiscard]] std::vector<Diagnostic> diagnostics() const;

  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  struct Problem {
    Position at;
    std::string key;
    std::string message;
  };

  std::vector<Source> sources_;
  std::map<std::string, Position, std::less<>> positions_;
  std::set<std::string, std::less<>> rejected_;
  std::vector<Problem> problems_;
  std::vector<std::string> notes_;
};

}  // namespace eplb::config
