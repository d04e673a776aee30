#include "json_text.hpp"

#include <algorithm>

#include "text.hpp"

namespace eplb::formats {
namespace {

constexpr std::size_t kExcerptBytesMax = 32;

/// Whether a number or a bare word may hold this byte.
bool is_word_byte(char byte) {
  const bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
  const bool is_digit = byte >= '0' && byte <= '9';
  return is_letter || is_digit || byte == '-' || byte == '+' || byte == '.' || byte == '_';
}

}  // namespace

std::string line_and_column(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = newline == std::string_view::npos ? offset + 1 : offset - newline;
  return concat({std::to_string(line), ":", std::to_string(column)});
}

std::string printable(std::string_view name) {
  std::string shown(name.substr(0, kExcerptBytesMax));
  std::ranges::replace_if(
      shown, [](char byte) { return byte < ' ' || byte > '~'; }, '?');
  return name.size() > kExcerptBytesMax ? concat({shown, "..."}) : shown;
}

std::string token_excerpt(std::string_view text, std::size_t offset) {
  // One byte more than is shown, so that printable sees that the token is longer.
  const std::string_view rest = text.substr(std::min(offset, text.size()), kExcerptBytesMax + 1);
  if (rest.starts_with('"')) {
    const std::size_t close = rest.find('"', 1);
    return printable(close == std::string_view::npos ? rest : rest.substr(0, close + 1));
  }
  const auto* const word_end = std::ranges::find_if_not(rest, is_word_byte);
  const auto length = static_cast<std::size_t>(word_end - rest.begin());
  return printable(rest.substr(0, std::max<std::size_t>(length, 1)));
}

std::string value_excerpt(std::string_view text, std::size_t offset) {
  const std::string token = token_excerpt(text, offset);
  return token == "[" ? "an array" : token == "{" ? "an object" : token;
}

std::size_t skip_whitespace(std::string_view text, std::size_t offset) {
  const std::size_t start = text.find_first_not_of(" \t\r\n", offset);
  return start == std::string_view::npos ? text.size() : start;
}

std::size_t skip_separators(std::string_view text, std::size_t offset) {
  const std::size_t start = text.find_first_not_of(" \t\r\n,:", offset);
  return start == std::string_view::npos ? text.size() : start;
}

}  // namespace eplb::formats
