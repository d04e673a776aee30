#include "eplb/cli/output_file.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <system_error>
#include <utility>

namespace eplb::cli {
namespace {

tl::unexpected<Error> cannot_write(const std::filesystem::path& path, const std::string& reason) {
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: error: cannot be written{}{}", path.string(),
                          reason.empty() ? "" : ": ", reason));
}

}  // namespace

Result<OutputFile> OutputFile::open(const std::optional<std::string>& target, std::ostream& out) {
  OutputFile output(out);
  if (target == "-") {
    output.is_standard_output_ = true;
  } else if (target.has_value()) {
    output.path_ = *target;
    if (auto opened = output.open_file(); !opened) {
      return tl::unexpected(std::move(opened).error());
    }
  }
  return output;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : out_(other.out_),
      is_standard_output_(other.is_standard_output_),
      path_(std::exchange(other.path_, {})),
      temporary_(std::exchange(other.temporary_, {})) {}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) {
    std::error_code ignored;
    std::filesystem::remove(temporary_, ignored);
  }
}

Result<void> OutputFile::open_file() {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path_, error);
  if (std::filesystem::is_directory(status)) {
    return cannot_write(path_, "it is a directory");
  }
  if (std::filesystem::exists(status)) {
    // The file that a link points at is replaced, not the link.
    path_ = std::filesystem::canonical(path_, error);
  }
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    // A device or a pipe cannot be replaced by a file: it is written to.
    return {};
  }
  temporary_ = path_;
  temporary_ += fmt::format(".{}.part", ::getpid());
  if (!std::ofstream(temporary_, std::ios::binary)) {
    const std::error_code reason(errno, std::generic_category());
    temporary_.clear();
    return cannot_write(path_, reason.message());
  }
  // Not kept for the length of the run: whoever is killed meanwhile must leave nothing behind.
  std::filesystem::remove(temporary_, error);
  return {};
}

Result<void> OutputFile::write(const nlohmann::ordered_json& document) {
  // Text from a file may hold bytes that are no UTF-8; replacing them beats failing.
  const std::string text =
      document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  return write([&](std::ostream& out) { out << text << '\n'; });
}

Result<void> OutputFile::write(const std::function<void(std::ostream&)>& writer) {
  if (is_standard_output_) {
    writer(*out_);
    return {};
  }
  if (path_.empty()) {
    return {};
  }
  {
    std::ofstream file(temporary_.empty() ? path_ : temporary_, std::ios::binary);
    writer(file);
    file.close();
    if (!file) {
      return cannot_write(path_, "writing it failed");
    }
  }
  if (!temporary_.empty()) {
    std::error_code error;
    std::filesystem::rename(temporary_, path_, error);
    if (error) {
      return cannot_write(path_, error.message());
    }
    temporary_.clear();
  }
  return {};
}

}  // namespace eplb::cli
