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

std::string to_string(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) {
    text += (text.empty() ? "" : "\n") + to_string(diagnostic);
  }
  return text;
}

}  // namespace eplb::config
