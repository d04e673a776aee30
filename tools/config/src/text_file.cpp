#include "text_file.hpp"

#include <cerrno>
#include <fstream>
#include <system_error>

#include "eplb/config/config.hpp"

namespace eplb::config {

tl::expected<std::string, std::string> read_text(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return tl::unexpected(std::string("is a directory, not a file"));
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return tl::unexpected("cannot be opened: " + std::generic_category().message(errno));
  }
  // One byte more than is allowed tells a file that is too large from one that just fits, also
  // where it is a pipe or a device and has no size to ask for.
  std::string text(kConfigBytesMax + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) {
    return tl::unexpected(std::string("cannot be read"));
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kConfigBytesMax) {
    return tl::unexpected("has more than " + std::to_string(kConfigBytesMax) + " bytes");
  }
  return text;
}

}  // namespace eplb::config
