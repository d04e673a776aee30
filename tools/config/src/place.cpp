#include "place.hpp"

#include <cstdint>
#include <type_traits>
#include <vector>

#include "words.hpp"

namespace eplb::config {
namespace {

template <typename T>
struct IsOptional : std::false_type {};

template <typename T>
struct IsOptional<std::optional<T>> : std::true_type {};

template <typename T>
std::string allowed_of(const Range& range) {
  if constexpr (std::is_same_v<T, bool>) {
    return "true or false";
  } else if constexpr (std::is_same_v<T, std::string>) {
    return "text";
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    return "a whole number from 0 to 2^64 - 1";
  } else if constexpr (std::is_same_v<T, double>) {
    return "a number, " + describe(range);
  } else if constexpr (std::is_same_v<T, std::vector<std::int32_t>>) {
    return "a list of whole numbers, each " + describe(range);
  } else if constexpr (IsOptional<T>::value) {
    return allowed_of<typename T::value_type>(range) + ", or none";
  } else if constexpr (std::is_enum_v<T>) {
    return "one of " + join(enum_words<T>());
  } else {
    static_assert(std::is_integral_v<T>);
    return "a whole number, " + describe(range);
  }
}

struct Allowed {
  const Range& range;

  template <typename T>
  std::string operator()(T* /*value*/) const {
    return allowed_of<T>(range);
  }

  std::string operator()(const WordPlace& word) const {
    return "one of " + join(word.words) + ", or none";
  }

  std::string operator()(FreeText /*text*/) const { return "text"; }

  std::string operator()(FigureSources /*sources*/) const { return "a mapping from keys to texts"; }

  std::string operator()(const ReadByHand& by_hand) const { return std::string(by_hand.type); }
};

struct TextAt {
  template <typename T>
  std::optional<std::string> operator()(T* value) const {
    return value_text(*value);
  }

  std::optional<std::string> operator()(const WordPlace& word) const {
    return word_text(*word.text);
  }

  template <typename NotKept>
  std::optional<std::string> operator()(const NotKept& /*none*/) const {
    return std::nullopt;
  }
};

struct ReadTo {
  const Range& range;
  const Yaml& value;

  template <typename T>
  ScalarError operator()(T* out) const {
    return read_scalar(value, range, *out);
  }

  ScalarError operator()(const WordPlace& word) const {
    return read_word(value, word.words, *word.text);
  }

  ScalarError operator()(FreeText /*text*/) const { return check_free_text(value); }

  template <typename NotKept>
  ScalarError operator()(const NotKept& /*none*/) const {
    return std::nullopt;
  }
};

}  // namespace

std::string allowed(const Place& place, const Range& range) {
  return std::visit(Allowed{range}, place);
}

std::optional<std::string> text_at(const Place& place) {
  return std::visit(TextAt{}, place);
}

ScalarError read_to(const Place& place, const Range& range, const Yaml& value) {
  return std::visit(ReadTo{range, value}, place);
}

}  // namespace eplb::config
