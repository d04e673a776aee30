#include "array_handler.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "eplb/formats/limits.hpp"
#include "text.hpp"

namespace eplb::formats {
namespace {

/// nlohmann-json's number for "a number is too large for a double".
constexpr int kNumberOverflow = 406;

/// Whether a word is what other programs write for a number that is not finite.
bool is_non_finite_word(std::string_view word) {
  const bool is_signed = word.starts_with('-') || word.starts_with('+');
  std::string lower(word.substr(is_signed ? 1 : 0, 3));
  std::ranges::transform(lower, lower.begin(), [](char byte) {
    return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte - 'A' + 'a') : byte;
  });
  return lower == "nan" || lower == "inf";
}

}  // namespace

ArrayHandler::ArrayHandler(JsonText& source, std::string_view source_name,
                           const ArrayFormat& format)
    : source_(source), source_name_(source_name), format_(format) {
  source_.limit = std::min(source_.text.size(), kTokenBytesMax);
}

bool ArrayHandler::start_object(std::size_t /*size*/) {
  if (place_ == Place::kStart) {
    place_ = Place::kTopObject;
  } else if (is_ignored()) {
    return enter_ignored();
  } else if (place_ == Place::kTopObject && format_.named) {
    place_ = Place::kNamedArrays;
  } else {
    return reject_value();
  }
  return note_event();
}

bool ArrayHandler::key(const std::string& name) {
  if (place_ == Place::kTopObject) {
    wanted_ = name == format_.key;
    return note_key(keys_, name) && note_event();
  }
  if (place_ == Place::kNamedArrays) {
    name_ = name;
    return note_key(names_, name) && note_event();
  }
  return note_event();
}

bool ArrayHandler::note_key(std::set<std::string>& seen, const std::string& name) {
  const std::string_view where = place_ == Place::kNamedArrays ? format_.key : "";
  if (seen.size() == kKeysMax) {
    return reject(
        ErrorCode::kResourceExhausted, value_start(), where,
        concat({"has more than ", std::to_string(kKeysMax), " keys, the most that is read"}));
  }
  if (!seen.insert(name).second) {
    return reject(ErrorCode::kInvalidArgument, value_start(), where,
                  concat({"the key \"", printable(name), "\" stands here a second time"}));
  }
  return true;
}

bool ArrayHandler::end_object() {
  if (place_ == Place::kIgnored) {
    leave_ignored();
  } else if (place_ == Place::kNamedArrays) {
    if (names_.empty()) {
      return reject(ErrorCode::kInvalidArgument, value_start(), format_.key, "must not be empty");
    }
    place_ = Place::kTopObject;
    wanted_ = false;
  } else {
    place_ = Place::kEnd;
  }
  return note_event();
}

bool ArrayHandler::start_array(std::size_t /*size*/) {
  const bool opens_alone = place_ == Place::kTopObject && wanted_ && !format_.named;
  if (opens_alone || place_ == Place::kNamedArrays) {
    arrays_.push_back({.name = format_.named ? name_ : "", .extents = {}, .values = {}});
    place_ = Place::kArray;
    indices_.assign(1, 0);
    sum_ = 0;
  } else if (is_ignored()) {
    return enter_ignored();
  } else if (place_ == Place::kArray &&
             indices_.size() < (depth_ > 0 ? depth_ : format_.depth_max)) {
    indices_.push_back(0);
  } else {
    return reject_value();
  }
  return note_event();
}

bool ArrayHandler::end_array() {
  if (place_ == Place::kIgnored) {
    leave_ignored();
    return note_event();
  }
  const std::size_t length = indices_.back();
  indices_.pop_back();
  if (length == 0) {
    return reject(ErrorCode::kInvalidArgument, value_start(), path(), "must not be empty");
  }
  std::size_t& extent = arrays_.back().extents[indices_.size()];
  if (extent == 0) {
    extent = length;
  }
  if (extent != length) {
    return reject(ErrorCode::kInvalidArgument, value_start(), path(),
                  concat({"has length ", std::to_string(length), " where those before have ",
                          std::to_string(extent), "; all must have one length"}));
  }
  if (!indices_.empty()) {
    ++indices_.back();
    return note_event();
  }
  place_ = format_.named ? Place::kNamedArrays : Place::kTopObject;
  wanted_ = false;
  name_.clear();
  depth_ = 0;
  return note_event();
}

bool ArrayHandler::is_ignored() const {
  return place_ == Place::kIgnored || (place_ == Place::kTopObject && !wanted_);
}

bool ArrayHandler::enter_ignored() {
  if (++ignored_depth_ > kIgnoredDepthMax) {
    return reject(ErrorCode::kResourceExhausted, value_start(), "",
                  concat({"is nested more than ", std::to_string(kIgnoredDepthMax),
                          " deep, the most that is read"}));
  }
  place_ = Place::kIgnored;
  return note_event();
}

void ArrayHandler::leave_ignored() {
  --ignored_depth_;
  place_ = ignored_depth_ == 0 ? Place::kTopObject : Place::kIgnored;
}

bool ArrayHandler::scalar() {
  return is_ignored() ? note_event() : reject_value();
}

bool ArrayHandler::number(double value) {
  if (place_ != Place::kArray) {
    return is_ignored() ? note_number() : reject_value();
  }
  const std::size_t nesting = indices_.size();
  if (depth_ == 0 && nesting >= format_.depth_min) {
    depth_ = nesting;
    arrays_.back().extents.assign(depth_, 0);
  }
  const bool in_range = value >= 0 && value <= format_.element_max;
  if (nesting != depth_ || !in_range || (format_.whole && value != std::floor(value))) {
    return reject_value();
  }
  sum_ += value;
  if (!(sum_ < 0x1p63)) {
    return reject(ErrorCode::kInvalidArgument, value_start(), path(),
                  "takes the sum to 2^63 or more; it must stay below");
  }
  if (++number_count_ > kNumbersMax) {
    return reject(ErrorCode::kResourceExhausted, value_start(), path(),
                  concat({"is one number more than ", std::to_string(kNumbersMax),
                          ", the most that is read"}));
  }
  // Adding zero makes -0 a plain 0.
  arrays_.back().values.push_back(value + 0.0);
  ++indices_.back();
  return note_number();
}

bool ArrayHandler::parse_error(std::size_t bytes_read, const std::string& /*last_token*/,
                               const nlohmann::json::exception& reason) {
  if (reason.id == kNumberOverflow && place_ == Place::kArray) {
    return reject_value();
  }
  // The lexer counts the end of the text as one more byte.
  if (bytes_read > source_.next) {
    if (source_.limit < source_.text.size()) {
      return reject(ErrorCode::kResourceExhausted, value_start(), path(),
                    concat({"more than ", std::to_string(kTokenBytesMax >> std::size_t{20}),
                            " MiB before the next value, the most that is read"}));
    }
    const bool is_empty = skip_whitespace(source_.text, 0) == source_.text.size();
    return reject(ErrorCode::kInvalidArgument, source_.text.size(), is_empty ? "" : path(),
                  is_empty ? "the file is empty" : "the text ends before the JSON does");
  }
  // A stray separator is the last byte that the lexer has read; any other token comes before.
  const std::size_t start = std::min(value_start(), source_.next - 1);
  const std::string token = token_excerpt(source_.text, start);
  if (place_ == Place::kArray && is_non_finite_word(token)) {
    return reject(ErrorCode::kInvalidArgument, start, path(),
                  concat({rule_here(), ", got ", token}));
  }
  return reject(ErrorCode::kInvalidArgument, start, path(),
                concat({"is not JSON from here on: ", token}));
}

Result<std::vector<NumberArray>> ArrayHandler::finish() && {
  if (error_.has_value()) {
    return tl::unexpected(*error_);
  }
  const std::size_t rest = skip_whitespace(source_.text, source_.next);
  if (rest < source_.text.size()) {
    reject(
        ErrorCode::kInvalidArgument, rest, "",
        concat({"there is text after the end of the JSON: ", token_excerpt(source_.text, rest)}));
    return tl::unexpected(*error_);
  }
  if (arrays_.empty()) {
    return fail_in_file(source_name_, format_.key,
                        concat({"is missing; the file must be like ", format_.example}));
  }
  return std::move(arrays_);
}

bool ArrayHandler::note_event() {
  previous_end_ = source_.next;
  source_.limit = std::min(source_.text.size(), source_.next + kTokenBytesMax);
  return true;
}

bool ArrayHandler::note_number() {
  note_event();
  const char last = source_.text[source_.next - 1];
  const bool is_at_end = source_.next == source_.limit && last >= '0' && last <= '9';
  previous_end_ -= is_at_end ? 0 : 1;
  return true;
}

bool ArrayHandler::reject_value() {
  return reject(ErrorCode::kInvalidArgument, value_start(), path(),
                concat({rule_here(), ", got ", value_excerpt(source_.text, value_start())}));
}

bool ArrayHandler::reject(ErrorCode code, std::size_t offset, std::string_view where,
                          std::string_view what) {
  const std::string place = line_and_column(source_.text, offset);
  error_ =
      Error{code,
            concat({source_name_, ":", place, ": error: ", where, where.empty() ? "" : ": ", what}),
            {__FILE__, __LINE__}};
  return false;
}

std::string ArrayHandler::path() const {
  const bool is_inside = place_ == Place::kNamedArrays || place_ == Place::kArray;
  if (!is_inside) {
    return place_ == Place::kTopObject && wanted_ ? std::string(format_.key) : "";
  }
  std::string path(format_.key);
  if (!name_.empty()) {
    path += concat({".", printable(name_)});
  }
  for (const std::size_t index : indices_) {
    path += concat({"[", std::to_string(index), "]"});
  }
  return path;
}

std::string ArrayHandler::rule_here() const {
  if (place_ == Place::kStart) {
    return concat({"must be an object like ", format_.example});
  }
  if (place_ == Place::kTopObject && format_.named) {
    return "must be an object of arrays";
  }
  const std::size_t nesting = place_ == Place::kArray ? indices_.size() : 0;
  if (nesting < (depth_ > 0 ? depth_ : format_.depth_min)) {
    return "must be an array";
  }
  const bool may_nest = depth_ == 0 && nesting < format_.depth_max;
  return concat({may_nest ? "must be an array, or " : "must be ", format_.element_rule});
}

std::size_t ArrayHandler::value_start() const {
  return skip_separators(source_.text, previous_end_);
}

}  // namespace eplb::formats
