#include "include_rules.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace eplb::test {
namespace {

/// An include as `folder/`, for everything below it, or as a whole path.
using IncludeList = std::vector<std::string_view>;

struct FolderRule {
  std::string_view folder;
  IncludeList allowed;             ///< Ours and others'; the standard library goes without saying.
  IncludeList allowed_in_sources;  ///< Below src/ alone, where no other library sees it.
  IncludeList banned_standard;  ///< Headers of the standard library that the folder goes without.
};

IncludeList joined(const std::vector<IncludeList>& lists) {
  IncludeList all;
  for (const IncludeList& list : lists) {
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

/// The table. A folder stands before the one that it lies in, whose rule it replaces.
std::vector<FolderRule> folder_rules() {
  const IncludeList threads{"atomic", "barrier",   "condition_variable", "future",     "latch",
                            "mutex",  "semaphore", "shared_mutex",       "stop_token", "thread"};
  const IncludeList clocks_and_chance{"chrono", "ctime", "random"};
  const IncludeList input_output{"cstdio",   "filesystem", "fstream", "iomanip",
                                 "iostream", "istream",    "ostream", "syncstream"};
  const IncludeList pure = joined({threads, clocks_and_chance, input_output});

  const IncludeList values{"eplb/core/", "tl/expected.hpp", "Eigen/"};
  const IncludeList graph{"boost/graph/", "boost/property_map/"};
  // Of the other libraries, the readers of files know the structs that they fill and no more.
  const IncludeList readers =
      joined({values,
              {"eplb/placement/options.hpp", "eplb/sim/options.hpp", "eplb/sim/program/program.hpp",
               "eplb/gpu/options.hpp", "eplb/formats/", "yaml-cpp/", "nlohmann/", "zip.h"}});
  return {
      {.folder = "core/",
       .allowed = joined({values, {"boost/random/", "xxhash.h"}}),
       .allowed_in_sources = {},
       .banned_standard = pure},
      {.folder = "placement/",
       .allowed = joined({values, {"eplb/placement/"}}),
       .allowed_in_sources = graph,
       .banned_standard = pure},
      {.folder = "sim/",
       .allowed = joined({values, {"eplb/sim/", "boost/random/", "xxhash.h", "fmt/", "nlohmann/"}}),
       .allowed_in_sources = joined({graph, {"unsupported/Eigen/"}}),
       .banned_standard = joined({threads, clocks_and_chance})},
      {.folder = "gpu/group/",
       .allowed = joined({{"eplb/core/", "eplb/group/", "tl/expected.hpp", "sys/", "linux/futex.h"},
                          {"fcntl.h", "netdb.h", "netinet/", "poll.h", "unistd.h"}}),
       .allowed_in_sources = {},
       .banned_standard = {}},
      {.folder = "gpu/",
       .allowed = joined({values,
                          {"eplb/gpu/", "eplb/group/", "cuda", "cooperative_groups", "nccl",
                           "nvtx3/", "mpi.h", "fmt/", "sys/", "unistd.h", "dlfcn.h"}}),
       .allowed_in_sources = {},
       .banned_standard = {}},
      {.folder = "tools/formats/",
       .allowed = readers,
       .allowed_in_sources = {},
       .banned_standard = threads},
      {.folder = "tools/config/",
       .allowed = joined({readers, {"eplb/config/"}}),
       .allowed_in_sources = {},
       .banned_standard = threads},
  };
}

/// A header that one file may have although its folder may not, and why.
struct Exception {
  std::string_view path;
  std::string_view include;
};

constexpr std::array kExceptions{
    // A broken promise is told to stderr as the program ends.
    Exception{.path = "core/src/assert.cpp", .include = "cstdio"},
};

struct Include {
  std::string path;
  bool quoted = false;
};

std::optional<Include> include_of(const SourceFile& file, std::size_t index) {
  const std::string& code = file.code[index];
  const std::size_t hash = code.find_first_not_of(" \t");
  if (hash == std::string::npos || code[hash] != '#' ||
      code.find("include", hash) == std::string::npos) {
    return std::nullopt;
  }
  const std::string& line = file.lines[index];
  const std::size_t open = line.find_first_of("<\"");
  const std::size_t close = line.find_first_of(">\"", open + 1);
  if (open == std::string::npos || close == std::string::npos) {
    return std::nullopt;
  }
  return Include{.path = line.substr(open + 1, close - open - 1), .quoted = line[open] == '"'};
}

bool covers(const IncludeList& list, std::string_view include) {
  return std::ranges::any_of(list, [&](std::string_view entry) {
    const bool whole = entry.ends_with(".h") || entry.ends_with(".hpp");
    return whole ? include == entry : include.starts_with(entry);
  });
}

/// Headers of the standard library have neither folder nor ending.
bool is_standard(std::string_view include) {
  return include.find_first_of("./") == include.npos;
}

bool is_excepted(std::string_view path, std::string_view include) {
  return std::ranges::any_of(kExceptions, [&](const Exception& exception) {
    return exception.path == path && exception.include == include;
  });
}

/// Why an include is not written as such includes are, or nothing.
std::string form_objection(const SourceFile& file, const Include& include) {
  const std::string& path = include.path;
  const bool ours = path.starts_with("eplb/");
  if (ours && !include.quoted) {
    return path + ": our headers stand in quotes";
  }
  if (file.path.starts_with("tests/")) {
    return "";  // Tests share what they like between their folders.
  }
  if (path.find("..") != std::string::npos) {
    return path + " climbs out of its folder";
  }
  // Else a quoted path is a private header beside the file, about which the table says nothing.
  if (include.quoted && !ours && (!is_header(path) || path.find('/') != std::string::npos)) {
    return path + ": others' headers stand in angle brackets";
  }
  return "";
}

/// Why a folder may not have an include, or nothing.
std::string folder_objection(const FolderRule& rule, const SourceFile& file,
                             const std::string& path) {
  const std::string place = " in " + std::string(rule.folder);
  if (is_standard(path)) {
    return std::ranges::count(rule.banned_standard, path) > 0 ? "no <" + path + ">" + place : "";
  }
  if (is_device(file.path) && path.starts_with("Eigen/")) {
    return "no Eigen in device code";  // nvcc warns at every header of it.
  }
  if (covers(rule.allowed, path)) {
    return "";
  }
  if (covers(rule.allowed_in_sources, path)) {
    return file.path.find("/src/") == std::string::npos ? path + " only in sources" + place : "";
  }
  return "no " + path + place;
}

std::string objection(const std::vector<FolderRule>& rules, const SourceFile& file,
                      const Include& include) {
  std::string message = form_objection(file, include);
  const bool is_private = include.quoted && !include.path.starts_with("eplb/");
  if (!message.empty() || is_private || is_excepted(file.path, include.path)) {
    return message;
  }
  const auto rule = std::ranges::find_if(
      rules, [&](const FolderRule& candidate) { return file.path.starts_with(candidate.folder); });
  return rule == rules.end() ? "" : folder_objection(*rule, file, include.path);
}

}  // namespace

std::vector<Finding> include_findings(const SourceFile& file) {
  const std::vector<FolderRule> rules = folder_rules();
  std::vector<Finding> findings;
  for (std::size_t index = 0; index < file.code.size(); ++index) {
    if (const std::optional<Include> include = include_of(file, index)) {
      if (std::string message = objection(rules, file, *include); !message.empty()) {
        findings.push_back({file.path, static_cast<std::int32_t>(index) + 1, std::move(message)});
      }
    }
  }
  return findings;
}

}  // namespace eplb::test
