#include "search_journal.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>
#include <utility>

#include "digest_text.hpp"

namespace eplb::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kSchema = "eplb.search_journal/1";

tl::unexpected<Error> refuse(const std::filesystem::path& path, std::size_t line,
                             const std::string& what) {
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{}:{}: error: {}", path.string(), line, what));
}

tl::unexpected<Error> cannot(const std::filesystem::path& path, std::string_view what) {
  const std::error_code reason(errno, std::generic_category());
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{}: error: {}: {}", path.string(), what, reason.message()));
}

Json owner_json(const JournalOwner& owner) {
  return {{"schema", kSchema},
          {"version", owner.version},
          {"config_digest", digest_text(owner.config_digest)}};
}

Result<void> check_owner(const std::filesystem::path& path, const Json& head,
                         const JournalOwner& owner) {
  const Json expected = owner_json(owner);
  for (const auto& [key, value] : expected.items()) {
    const auto found = head.find(key);
    if (found == head.end() || *found != value) {
      return refuse(
          path, 1,
          fmt::format("{}: is {}, this search has {}; take another file, or remove this "
                      "one to begin anew",
                      key, found == head.end() ? "missing" : found->dump(), value.dump()));
    }
  }
  return {};
}

Result<std::pair<EvaluationKey, Evaluation>> read_entry(const Json& json) {
  const auto config = json.find("config");
  const auto seed = json.find("seed");
  const auto steps = json.find("steps");
  if (config == json.end() || !config->is_string() || seed == json.end() ||
      !seed->is_number_unsigned() || steps == json.end() || !steps->is_number_integer()) {
    return fail(ErrorCode::kInvalidArgument, "must have config, seed and steps");
  }
  auto evaluation = read_evaluation(json);
  if (!evaluation) {
    return tl::unexpected(evaluation.error());
  }
  const std::string digest = config->get<std::string>();
  std::size_t read = 0;
  std::uint64_t config_digest = 0;
  if (digest.size() == 16 && digest.find_first_not_of("0123456789abcdef") == std::string::npos) {
    config_digest = std::stoull(digest, &read, 16);
  }
  if (read != digest.size()) {
    return fail(ErrorCode::kInvalidArgument, "config: must be a digest of 16 hex digits");
  }
  return std::pair(EvaluationKey{.config_digest = config_digest,
                                 .seed = seed->get<std::uint64_t>(),
                                 .steps = steps->get<std::int64_t>()},
                   *std::move(evaluation));
}

/// Reads whole lines; gives the bytes that they take, and which begins a torn one if there is any.
Result<std::size_t> read_lines(const std::filesystem::path& path, const std::string& text,
                               const JournalOwner& owner, Evaluations& known) {
  std::size_t line = 0;
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    ++line;
    const Json json = Json::parse(text.begin() + static_cast<std::ptrdiff_t>(begin),
                                  text.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
    if (!json.is_object()) {
      return refuse(path, line, "is no line of a search's journal");
    }
    if (line == 1) {
      if (const auto owned = check_owner(path, json, owner); !owned) {
        return tl::unexpected(owned.error());
      }
    } else {
      const auto entry = read_entry(json);
      if (!entry) {
        return refuse(path, line, entry.error().message);
      }
      const auto [found, is_new] = known.insert(*entry);
      if (!is_new && evaluation_json(found->second) != evaluation_json(entry->second)) {
        return refuse(path, line, "has another result for a run that is known already");
      }
    }
    begin = end + 1;
  }
  return begin;
}

Result<std::string> read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file || file.bad()) {
    return cannot(path, "cannot be read");
  }
  return text;
}

/// A new file's name is on the disk only when its folder is.
void sync_folder(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor >= 0) {
    ::fsync(descriptor);
    ::close(descriptor);
  }
}

}  // namespace

Result<void> read_journal(const std::filesystem::path& path, const JournalOwner& owner,
                          Evaluations& known) {
  const auto text = read_text(path);
  if (!text) {
    return tl::unexpected(text.error());
  }
  const auto whole = read_lines(path, *text, owner, known);
  if (!whole) {
    return tl::unexpected(whole.error());
  }
  if (*whole == 0) {
    return refuse(path, 1, "is no journal of a search: it has no first line");
  }
  return {};
}

Result<Journal> Journal::open(const std::filesystem::path& path, const JournalOwner& owner,
                              Evaluations& known) {
  constexpr int kReadWriteForAll = 0666;
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, kReadWriteForAll);
  if (file < 0) {
    return cannot(path, "cannot be written");
  }
  Journal journal(path, file);
  if (::flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{}: error: another search is writing it", path.string()));
  }
  const auto text = read_text(path);
  if (!text) {
    return tl::unexpected(text.error());
  }
  const auto whole = read_lines(path, *text, owner, known);
  if (!whole) {
    return tl::unexpected(whole.error());
  }
  if (*whole < text->size() && ::ftruncate(file, static_cast<off_t>(*whole)) != 0) {
    return cannot(path, "its torn last line cannot be cut off");
  }
  if (*whole == 0) {
    if (const auto begun = journal.write_line(owner_json(owner).dump()); !begun) {
      return tl::unexpected(begun.error());
    }
    sync_folder(path);
  }
  return journal;
}

Journal::Journal(Journal&& other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)) {}

Journal::~Journal() {
  if (file_ >= 0) {
    ::close(file_);
  }
}

Result<void> Journal::add(const EvaluationKey& key, const Evaluation& evaluation) {
  Json json{{"config", digest_text(key.config_digest)}, {"seed", key.seed}, {"steps", key.steps}};
  json.update(evaluation_json(evaluation));
  return write_line(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Result<void> Journal::write_line(std::string line) {
  line += '\n';
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t written = ::write(file_, rest.data(), rest.size());
    if (written < 0 && errno != EINTR) {
      return cannot(path_, "cannot be written");
    }
    rest.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
  }
  if (::fdatasync(file_) != 0 && errno != EINVAL) {
    return cannot(path_, "cannot be brought to the disk");
  }
  return {};
}

}  // namespace eplb::cli
