#include "text_check.hpp"

#include <array>
#include <cstdint>

namespace eplb::config {
namespace {

// By the bytes of a UTF-8 sequence, from 1 to 4.
constexpr std::array<std::uint32_t, 5> kLeadMask = {0, 0x7FU, 0x1FU, 0x0FU, 0x07U};
constexpr std::array<std::uint32_t, 5> kLeastCodePoint = {0, 0, 0x80U, 0x800U, 0x10000U};

std::uint32_t byte_at(std::string_view text, std::size_t index) {
  return static_cast<unsigned char>(text[index]);
}

/// Bytes of the UTF-8 sequence that starts with `lead`; 0 if none can.
std::size_t sequence_length(std::uint32_t lead) {
  if (lead < 0x80U) {
    return 1;
  }
  if (lead >= 0xC2U && lead < 0xE0U) {
    return 2;
  }
  if (lead >= 0xE0U && lead < 0xF0U) {
    return 3;
  }
  return lead >= 0xF0U && lead < 0xF5U ? 4 : 0;
}

/// Code point of the sequence at `index`, or none if it is not UTF-8.
std::optional<std::uint32_t> decode(std::string_view text, std::size_t index, std::size_t length) {
  if (length == 0 || length > text.size() - index) {
    return std::nullopt;
  }
  std::uint32_t code_point = byte_at(text, index) & kLeadMask.at(length);
  for (std::size_t offset = 1; offset < length; ++offset) {
    const std::uint32_t byte = byte_at(text, index + offset);
    if ((byte & 0xC0U) != 0x80U) {
      return std::nullopt;
    }
    code_point = (code_point << 6U) | (byte & 0x3FU);
  }
  const bool surrogate = code_point >= 0xD800U && code_point < 0xE000U;
  if (code_point < kLeastCodePoint.at(length) || code_point > 0x10FFFFU || surrogate) {
    return std::nullopt;
  }
  return code_point;
}

bool is_text(std::uint32_t code_point) {
  if (code_point < 0x20U) {
    return code_point == '\t' || code_point == '\n' || code_point == '\r';
  }
  return code_point < 0x7FU || code_point >= 0xA0U;
}

}  // namespace

std::optional<BadByte> find_bad_byte(std::string_view text) {
  for (std::size_t index = 0; index < text.size();) {
    const std::size_t length = sequence_length(byte_at(text, index));
    const auto code_point = decode(text, index, length);
    if (!code_point.has_value()) {
      return BadByte{.offset = index, .reason = "the text is not UTF-8"};
    }
    if (!is_text(*code_point)) {
      return BadByte{.offset = index,
                     .reason = "control character " + std::to_string(*code_point) + " in the text"};
    }
    index += length;
  }
  return std::nullopt;
}

}  // namespace eplb::config
