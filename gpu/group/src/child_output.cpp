#include "child_output.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>

namespace eplb::group {

LineNamer::LineNamer(std::int32_t process, std::FILE* target)
    : prefix_("[" + std::to_string(process) + "] "), target_(target) {}

bool LineNamer::pass_on(int descriptor) {
  std::array<char, 4096> chunk{};
  while (true) {
    pollfd ready{.fd = descriptor, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, 0) <= 0) {
      return true;
    }
    const ssize_t got = ::read(descriptor, chunk.data(), chunk.size());
    if (got <= 0) {
      return false;
    }
    begun_.append(chunk.data(), static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (std::size_t end = begun_.find('\n'); end != std::string::npos;
         end = begun_.find('\n', begin)) {
      write_line(begun_.substr(begin, end - begin));
      begin = end + 1;
    }
    begun_.erase(0, begin);
  }
}

void LineNamer::finish() {
  if (!begun_.empty()) {
    write_line(begun_);
    begun_.clear();
  }
}

void LineNamer::write_line(const std::string& line) const {
  const std::string named = prefix_ + line + "\n";
  std::fwrite(named.data(), 1, named.size(), target_);
  std::fflush(target_);
}

}  // namespace eplb::group
