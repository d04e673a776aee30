#include "eplb/cli/progress.hpp"

#include <ostream>

namespace eplb::cli {
namespace {

/// To the line's begin, and nothing after it.
constexpr std::string_view kEmptyLine = "\r\x1b[K";

}  // namespace

Progress::~Progress() {
  clear();
}

void Progress::show(std::string_view text) {
  if (streams_.err_is_terminal) {
    streams_.err << kEmptyLine << text << std::flush;
    is_shown_ = true;
  }
}

void Progress::clear() {
  if (is_shown_) {
    streams_.err << kEmptyLine << std::flush;
    is_shown_ = false;
  }
}

}  // namespace eplb::cli
