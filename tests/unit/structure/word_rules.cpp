#include "word_rules.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

namespace eplb::test {
namespace {

using FolderList = std::vector<std::string_view>;

struct WordBan {
  /// One `*` stands for anything. A pattern with `::` is held against a name with all its scopes,
  /// any other against the name alone.
  std::string_view pattern;
  std::string_view reason;
};

constexpr std::string_view kClock = "no real clock: time is handed in";
constexpr std::string_view kChance = "chance comes from a seeded Boost.Random generator";
constexpr std::string_view kOrder = "its order differs between machines and runs";
constexpr std::string_view kThreads = "no threads: the world is handed in";
constexpr std::string_view kWorld = "nothing asks which world it runs in: it is handed in";
constexpr std::string_view kToolchain = "clang-tidy 14 cannot read it";

/// What would make two runs of one seed differ.
constexpr std::array kDeterminism{
    WordBan{"steady_clock", kClock},
    WordBan{"system_clock", kClock},
    WordBan{"high_resolution_clock", kClock},
    WordBan{"clock_gettime", kClock},
    WordBan{"gettimeofday", kClock},
    WordBan{"std::time", kClock},
    WordBan{"std::clock", kClock},
    WordBan{"random_device", kChance},
    WordBan{"rand", kChance},
    WordBan{"srand", kChance},
    WordBan{"std::mt19937*", kChance},
    WordBan{"std::minstd_rand*", kChance},
    WordBan{"std::default_random_engine", kChance},
    WordBan{"std::*_distribution", kChance},
    WordBan{"std::shuffle", kChance},
    WordBan{"std::ranges::shuffle", kChance},
    WordBan{"std::sample", kChance},
    WordBan{"std::ranges::sample", kChance},
    WordBan{"unordered_*", kOrder},
    WordBan{"std::hash", kOrder},
    WordBan{"std::thread", kThreads},
    WordBan{"std::jthread", kThreads},
    WordBan{"std::async", kThreads},
    WordBan{"getenv", "no environment variable is configuration"},
};

/// What no code of ours says.
constexpr std::array kHouse{
    WordBan{"is_simulated", kWorld},
    WordBan{"isSimulated", kWorld},
    WordBan{"EPLB_SIM", kWorld},
    WordBan{"EPLB_SIMULATED", kWorld},
    WordBan{"assert", "EPLB_ASSERT is on in every build"},
    WordBan{"setenv", "a process's environment is not ours to change"},
    WordBan{"putenv", "a process's environment is not ours to change"},
    WordBan{"source_location", kToolchain},
    WordBan{"std::views::*", kToolchain},
    WordBan{"std::ranges::views::*", kToolchain},
};

/// What these folders leave to others, although they may catch what the standard library throws.
constexpr std::array kNoThrow{
    WordBan{"throw", "an expected failure is a Result"},
};

bool matches(std::string_view name, std::string_view pattern) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) {
    return name == pattern;
  }
  const std::string_view head = pattern.substr(0, star);
  const std::string_view tail = pattern.substr(star + 1);
  return name.size() >= head.size() + tail.size() && name.starts_with(head) && name.ends_with(tail);
}

/// The names of a line with all their scopes, as `std::chrono::nanoseconds`.
std::vector<std::string_view> qualified_names(std::string_view line) {
  const auto in_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ':';
  };
  std::vector<std::string_view> names;
  std::size_t at = 0;
  while (at < line.size()) {
    std::size_t end = at;
    while (end < line.size() && in_name(line[end])) {
      ++end;
    }
    if (end > at) {
      names.push_back(line.substr(at, end - at));
    }
    at = end + 1;
  }
  return names;
}

/// Whether one of the scopes of a name, or the name itself, is meant.
bool names_it(std::string_view qualified, std::string_view pattern) {
  if (pattern.find("::") != std::string_view::npos) {
    return matches(qualified, pattern);
  }
  while (!qualified.empty()) {
    const std::size_t end = std::min(qualified.find(':'), qualified.size());
    if (matches(qualified.substr(0, end), pattern)) {
      return true;
    }
    qualified.remove_prefix(std::min(end + 1, qualified.size()));
  }
  return false;
}

void add_bans(std::vector<WordBan>& bans, std::string_view path, const FolderList& folders,
              std::span<const WordBan> more) {
  if (std::ranges::any_of(folders, [&](auto folder) { return path.starts_with(folder); })) {
    bans.insert(bans.end(), more.begin(), more.end());
  }
}

}  // namespace

std::vector<Finding> word_findings(const SourceFile& file) {
  std::vector<WordBan> bans;
  add_bans(bans, file.path, {"core/", "placement/", "sim/"}, kDeterminism);
  add_bans(bans, file.path, {"core/", "placement/", "sim/", "gpu/", "tools/"}, kHouse);
  add_bans(bans, file.path, {"core/", "placement/"}, kNoThrow);

  std::vector<Finding> findings;
  for (std::size_t index = 0; index < file.code.size(); ++index) {
    for (const std::string_view name : qualified_names(file.code[index])) {
      for (const WordBan& ban : bans) {
        if (names_it(name, ban.pattern)) {
          findings.push_back({file.path, static_cast<std::int32_t>(index) + 1,
                              std::string(name) + ": " + std::string(ban.reason)});
        }
      }
    }
  }
  return findings;
}

}  // namespace eplb::test
