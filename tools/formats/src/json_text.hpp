#pragma once

#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>

namespace eplb::formats {

/// A JSON text and how far a lexer has read it. Shared by the lexer's iterators and whoever has to
/// say where a value stands, since a SAX event does not tell.
struct JsonText {
  std::string_view text;
  std::size_t next = 0;   ///< First byte not read yet.
  std::size_t limit = 0;  ///< The lexer is told that the text ends here; at most text.size().
};

/// Reads a JsonText byte by byte. All iterators of one text share its position, and two are equal
/// when it stands at the limit, as those of a stream are.
class JsonTextIterator {
 public:
  // NOLINTBEGIN(readability-identifier-naming): the names that std::iterator_traits asks for.
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  // NOLINTEND(readability-identifier-naming)

  explicit JsonTextIterator(JsonText& source) : source_(&source) {}

  reference operator*() const { return source_->text[source_->next]; }

  JsonTextIterator& operator++() {
    ++source_->next;
    return *this;
  }

  friend bool operator==(const JsonTextIterator& left, const JsonTextIterator& /*right*/) {
    return left.source_->next == left.source_->limit;
  }

 private:
  JsonText* source_;
};

/// "line:column" of a byte, both from 1, columns in bytes.
[[nodiscard]] std::string line_and_column(std::string_view text, std::size_t offset);

/// The token that starts at `offset`, for a message: cut when long, unprintable bytes as '?'.
[[nodiscard]] std::string token_excerpt(std::string_view text, std::size_t offset);

/// The value that starts at `offset`, for a message: its token, or the kind of container.
[[nodiscard]] std::string value_excerpt(std::string_view text, std::size_t offset);

/// `name` for a message: cut when long, unprintable bytes as '?'.
[[nodiscard]] std::string printable(std::string_view name);

/// First byte at or after `offset` that is no JSON whitespace; the text's size if there is none.
[[nodiscard]] std::size_t skip_whitespace(std::string_view text, std::size_t offset);

/// First byte at or after `offset` that may start a token; the text's size if there is none.
[[nodiscard]] std::size_t skip_separators(std::string_view text, std::size_t offset);

}  // namespace eplb::formats
