#include "eplb/config/diagnostic.hpp"

namespace eplb::config {

std::string to_string(const Diagnostic& diagnostic) {
  std::string text = diagnostic.file;
  if (diagnostic.line > 0) {
    text += ":" + std::to_string(diagnostic.line) + ":" + std::to_string(diagnostic.column);
  }
  text += ": error: ";
  if (!diagnostic.key.empty()) {
    text += diagnostic.key + ": ";
  }
  return text + diagnostic.message;
}

}  // namespace eplb::config
