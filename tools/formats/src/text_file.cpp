#include "text_file.hpp"

#include <array>
#include <cstddef>
#include <fstream>
#include <system_error>

#include "eplb/formats/limits.hpp"
#include "text.hpp"

namespace eplb::formats {
namespace {

tl::unexpected<Error> cannot_read(const std::filesystem::path& path, const std::string& reason) {
  return fail(ErrorCode::kInvalidArgument,
              concat({path.string(), ": error: cannot be read: ", reason}));
}

tl::unexpected<Error> too_long(const std::filesystem::path& path) {
  const std::string most = std::to_string(kFileBytesMax >> std::uint64_t{20});
  return fail(ErrorCode::kResourceExhausted, concat({path.string(), ": error: is longer than ",
                                                     most, " MiB, the most that is read"}));
}

}  // namespace

Result<std::string> read_text(const std::filesystem::path& path) {
  std::error_code status_error;
  const std::filesystem::file_status status = std::filesystem::status(path, status_error);
  if (!std::filesystem::exists(status)) {
    return cannot_read(path, status_error ? status_error.message() : "no such file");
  }
  if (std::filesystem::is_directory(status)) {
    return cannot_read(path, "it is a directory");
  }
  std::string text;
  if (std::filesystem::is_regular_file(status)) {
    const std::uintmax_t size = std::filesystem::file_size(path, status_error);
    if (!status_error && size > kFileBytesMax) {
      return too_long(path);
    }
    text.reserve(status_error ? 0 : static_cast<std::size_t>(size));
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return cannot_read(path, "it cannot be opened");
  }
  // A pipe has no size to ask for, and a file may grow, so the limit holds while reading as well.
  std::array<char, std::size_t{1} << 16> chunk{};
  while (file.read(chunk.data(), chunk.size()) || file.gcount() > 0) {
    text.append(chunk.data(), static_cast<std::size_t>(file.gcount()));
    if (text.size() > kFileBytesMax) {
      return too_long(path);
    }
  }
  if (file.bad()) {
    return cannot_read(path, "reading it failed");
  }
  return text;
}

}  // namespace eplb::formats
