#include "words.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "eplb/config/nearest.hpp"

namespace eplb::config {
namespace {

constexpr std::size_t kPrintedBytesMax = 60;
constexpr std::size_t kListedMax = 30;

/// Below this a double that is whole has few enough digits to be printed as such.
constexpr double kPrintedWholeMax = 1e15;
constexpr std::string_view kHexDigits = "0123456789abcdef";

unsigned byte_at(std::string_view text, std::size_t index) {
  return index < text.size() ? static_cast<unsigned char>(text[index]) : 0U;
}

/// The control character that starts at `index`, by its code point: ASCII's and, as a terminal may
/// obey them too, those of Latin-1, which are 0xC2 and themselves in UTF-8.
std::optional<unsigned> control_at(std::string_view text, std::size_t index) {
  const unsigned byte = byte_at(text, index);
  if (byte < 0x20U || byte == 0x7FU) {
    return byte;
  }
  const unsigned next = byte_at(text, index + 1);
  if (byte == 0xC2U && next >= 0x80U && next < 0xA0U) {
    return next;
  }
  return std::nullopt;
}

bool continues_utf8(char character) {
  return (static_cast<unsigned char>(character) & 0xC0U) == 0x80U;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string shown;
  for (std::size_t index = 0; index < text.size(); ++index) {
    if (const auto control = control_at(text, index); control.has_value()) {
      shown += {'\\', 'x', kHexDigits[*control >> 4U], kHexDigits[*control & 0xFU]};
      index += *control >= 0x80U ? 1U : 0U;
    } else {
      shown += text[index];
    }
  }
  return shown;
}

std::string printable(std::string_view text) {
  std::size_t end = std::min(text.size(), kPrintedBytesMax);
  while (end < text.size() && continues_utf8(text[end])) {
    ++end;
  }
  return escaped(text.substr(0, end)) + (end < text.size() ? "..." : "");
}

std::string join(std::span<const std::string_view> words) {
  std::string joined;
  for (const std::string_view word : words) {
    joined += (joined.empty() ? "" : ", ") + printable(word);
  }
  return joined;
}

std::string unknown(std::string_view what, std::string_view word,
                    std::span<const std::string_view> candidates) {
  const std::string start = "unknown " + std::string(what) + ", ";
  if (const auto meant = nearest(word, candidates); meant.has_value()) {
    return start + "did you mean " + printable(*meant) + "?";
  }
  if (candidates.empty()) {
    return start + "none is known";
  }
  const std::size_t listed = std::min(candidates.size(), kListedMax);
  const std::size_t unlisted = candidates.size() - listed;
  return start + "allowed are " + join(candidates.first(listed)) +
         (unlisted > 0 ? " and " + std::to_string(unlisted) + " more" : "");
}

std::vector<std::string_view> views(std::span<const std::string> words) {
  return {words.begin(), words.end()};
}

std::string number_text(double value) {
  if (std::abs(value) < kPrintedWholeMax && value == std::trunc(value)) {
    return std::to_string(static_cast<std::int64_t>(value));
  }
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return {buffer.data(), end.ptr};
}

}  // namespace eplb::config
