#include "seed_option.hpp"

#include <fmt/core.h>

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace eplb::cli {
namespace {

std::optional<std::uint64_t> number(std::string_view text, int base) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole ? std::optional(value) : std::nullopt;
}

}  // namespace

std::uint64_t read_seed(OptionValues& values, const std::string& name, std::uint64_t fallback) {
  constexpr std::size_t kCommitDigits = 40;
  constexpr std::size_t kSeedDigits = 16;
  const std::optional<std::string> text = values.text(name);
  if (!text.has_value()) {
    return fallback;
  }
  const bool is_commit = text->size() == kCommitDigits &&
                         text->find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
  const auto seed =
      is_commit ? number(std::string_view(*text).substr(0, kSeedDigits), 16) : number(*text, 10);
  if (!seed.has_value()) {
    values.note_problem(fmt::format(
        "--{}: must be a whole number from 0 to 18446744073709551615, or a commit of 40 hex "
        "digits, got '{}'",
        name, *text));
  }
  return seed.value_or(fallback);
}

}  // namespace eplb::cli
