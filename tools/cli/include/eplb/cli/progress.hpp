#pragma once

#include <string_view>

#include "eplb/cli/command.hpp"

namespace eplb::cli {

/// One line on a terminal that says what a command is at; silent where nobody watches. The line is
/// gone when the object goes.
class Progress {
 public:
  explicit Progress(const Streams& streams) : streams_(streams) {}

  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  Progress(Progress&&) = delete;
  Progress& operator=(Progress&&) = delete;

  /// Replaces the line. A caller with many steps shows each hundredth or so, since a terminal is
  /// slow.
  void show(std::string_view text);

  /// Takes the line away, so that something else can be printed.
  void clear();

 private:
  const Streams& streams_;
  bool is_shown_ = false;
};

}  // namespace eplb::cli
