#include "source_tree.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace eplb::test {
namespace {

namespace fs = std::filesystem;

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Where the construct that begins at `begin` ends: past `close`, or at the end of the text.
std::size_t end_past(std::string_view text, std::size_t begin, std::string_view close) {
  const std::size_t found = text.find(close, begin);
  return found == std::string_view::npos ? text.size() : found + close.size();
}

std::size_t end_of_raw_string(std::string_view text, std::size_t begin) {
  const std::size_t open = text.find('(', begin);
  if (open == std::string_view::npos) {
    return text.size();
  }
  const std::string delimiter{text.substr(begin + 2, open - begin - 2)};
  return end_past(text, open, ")" + delimiter + "\"");
}

/// Past the quote that closes the literal; an unclosed one ends with its line.
std::size_t end_of_literal(std::string_view text, std::size_t begin) {
  const char quote = text[begin];
  std::size_t at = begin + 1;
  while (at < text.size() && text[at] != quote && text[at] != '\n') {
    at += text[at] == '\\' ? 2U : 1U;
  }
  return std::min(at + 1, text.size());
}

/// The text with comments dropped and literals emptied; every line end stays where it was.
std::string strip(std::string_view text) {
  std::string code;
  std::size_t at = 0;
  const auto drop_to = [&](std::size_t end) {
    for (const char c : text.substr(at, end - at)) {
      if (c == '\n') {
        code += c;
      }
    }
    at = end;
  };
  while (at < text.size()) {
    const std::string_view rest = text.substr(at);
    const bool after_word = at > 0 && is_word(text[at - 1]);  // 1'000 opens no literal
    if (rest.starts_with("//")) {
      drop_to(std::min(text.find('\n', at), text.size()));
    } else if (rest.starts_with("/*")) {
      drop_to(end_past(text, at + 2, "*/"));
    } else if (rest.starts_with("R\"") && !after_word) {
      code += "\"\"";
      drop_to(end_of_raw_string(text, at));
    } else if (rest.front() == '"' || (rest.front() == '\'' && !after_word)) {
      code += {rest.front(), rest.front()};
      drop_to(end_of_literal(text, at));
    } else {
      code += text[at++];
    }
  }
  return code;
}

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

bool has_extension(std::string_view path, std::span<const std::string_view> extensions) {
  return std::ranges::any_of(extensions, [&](auto extension) { return path.ends_with(extension); });
}

bool is_ours(std::string_view path) {
  constexpr std::array<std::string_view, 8> kOthers{
      ".cmake", ".cmake.in", "CMakeLists.txt", ".md", ".sh", ".yaml", ".ci/run", "Presets.json"};
  return is_cpp(path) || has_extension(path, kOthers);
}

bool is_skipped_folder(const fs::path& folder) {
  const std::string name = folder.filename().string();
  return (name.starts_with('.') && name != ".ci") || name == "build" ||
         fs::exists(folder / "CMakeCache.txt");
}

}  // namespace

std::string report(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += finding.path + ":" + std::to_string(finding.line) + ": " + finding.message + "\n";
  }
  return text;
}

bool is_header(std::string_view path) {
  return path.ends_with(".hpp") || path.ends_with(".cuh");
}

bool is_device(std::string_view path) {
  return path.ends_with(".cu") || path.ends_with(".cuh");
}

bool is_cpp(std::string_view path) {
  return is_header(path) || is_device(path) || path.ends_with(".cpp");
}

SourceFile parse_source(std::string path, std::string_view text) {
  SourceFile file;
  file.lines = split_lines(text);
  file.ends_with_newline = text.empty() || text.back() == '\n';
  if (is_cpp(path)) {
    file.code = split_lines(strip(text));
    file.code.resize(file.lines.size());
  }
  file.path = std::move(path);
  return file;
}

std::string read_text(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<SourceFile> read_tree(std::string_view root) {
  std::vector<SourceFile> files;
  for (auto entry = fs::recursive_directory_iterator(root); entry != fs::end(entry); ++entry) {
    if (entry->is_directory() && is_skipped_folder(entry->path())) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file()) {
      std::string path = entry->path().lexically_relative(root).generic_string();
      if (is_ours(path)) {
        files.push_back(parse_source(std::move(path), read_text(entry->path().string())));
      }
    }
  }
  std::ranges::sort(files, {}, &SourceFile::path);
  return files;
}

}  // namespace eplb::test
