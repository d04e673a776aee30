#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "array_reader.hpp"
#include "json_text.hpp"

namespace eplb::formats {

/// Takes nlohmann-json's SAX events and keeps the arrays that the format asks for. Every event
/// returns whether to go on; after the first false, error() says why.
class ArrayHandler {
 public:
  ArrayHandler(JsonText& source, std::string_view source_name, const ArrayFormat& format);

  bool null() { return scalar(); }

  bool boolean(bool /*value*/) { return scalar(); }

  bool string(const std::string& /*value*/) { return scalar(); }

  bool binary(const std::vector<std::uint8_t>& /*value*/) { return scalar(); }

  bool number_integer(std::int64_t value) { return number(static_cast<double>(value)); }

  bool number_unsigned(std::uint64_t value) { return number(static_cast<double>(value)); }

  bool number_float(double value, const std::string& /*text*/) { return number(value); }

  bool start_object(std::size_t /*size*/);
  bool key(const std::string& name);
  bool end_object();
  bool start_array(std::size_t /*size*/);
  bool end_array();
  bool parse_error(std::size_t bytes_read, const std::string& last_token,
                   const nlohmann::json::exception& reason);

  /// To be called after the last event: the arrays, or the first thing that was wrong.
  [[nodiscard]] Result<std::vector<NumberArray>> finish() &&;

 private:
  /// What encloses the value that comes next.
  enum class Place : std::uint8_t {
    kStart,        ///< Nothing yet.
    kTopObject,    ///< The file's object.
    kIgnored,      ///< Something under another key.
    kNamedArrays,  ///< The object of arrays.
    kArray,        ///< An array that is kept.
    kEnd,          ///< Nothing any more.
  };

  bool scalar();
  bool number(double value);
  bool note_key(std::set<std::string>& seen, const std::string& name);

  /// Whether the value at hand is, or is inside, that of another key.
  [[nodiscard]] bool is_ignored() const;
  bool enter_ignored();
  void leave_ignored();

  /// Remembers where the event's token ended. Always true.
  bool note_event();
  /// The same for a number, whose end the lexer only sees from the byte after it.
  bool note_number();

  bool reject_value();
  bool reject(ErrorCode code, std::size_t offset, std::string_view where, std::string_view what);
  [[nodiscard]] std::string path() const;
  [[nodiscard]] std::string rule_here() const;
  [[nodiscard]] std::size_t value_start() const;

  JsonText& source_;
  std::string_view source_name_;
  const ArrayFormat& format_;
  std::optional<Error> error_;

  Place place_ = Place::kStart;
  std::size_t previous_end_ = 0;   ///< Where the previous event's token ended.
  std::size_t ignored_depth_ = 0;  ///< Open containers under another key.
  bool wanted_ = false;            ///< The top-level key at hand is the format's.
  std::string name_;               ///< The named array at hand.
  std::set<std::string> keys_;
  std::set<std::string> names_;

  std::vector<NumberArray> arrays_;
  std::vector<std::size_t> indices_;  ///< Elements complete so far, of each open array.
  std::size_t depth_ = 0;             ///< Nesting of the array at hand; 0 before its first number.
  std::size_t number_count_ = 0;
  double sum_ = 0;
};

}  // namespace eplb::formats
