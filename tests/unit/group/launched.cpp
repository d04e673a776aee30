#include "launched.hpp"

#include <unistd.h>

#include <array>

namespace eplb::test {

std::vector<std::string> Output::lines() const {
  std::vector<std::string> lines;
  std::string line;
  off_t offset = 0;
  std::array<char, 4096> chunk{};
  ssize_t got = 0;
  while ((got = ::pread(::fileno(file_), chunk.data(), chunk.size(), offset)) > 0) {
    offset += got;
    for (const char c : std::string_view(chunk.data(), static_cast<std::size_t>(got))) {
      if (c == '\n') {
        lines.push_back(std::exchange(line, ""));
      } else {
        line += c;
      }
    }
  }
  return lines;
}

group::LaunchOptions process_launch(std::int32_t count, std::vector<std::string> arguments,
                                    const Output& output) {
  group::LaunchOptions options;
  options.process_count = count;
  options.command = {EPLB_GROUP_PROCESS};
  options.command.insert(options.command.end(), arguments.begin(), arguments.end());
  options.output = output.file();
  options.errors = output.file();
  return options;
}

}  // namespace eplb::test
