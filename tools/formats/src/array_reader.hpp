#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "eplb/core/result.hpp"

namespace eplb::formats {

/// A rectangular array of numbers as a file holds it.
struct NumberArray {
  std::string name;                  ///< Key in the object of arrays; empty for an array alone.
  std::vector<std::size_t> extents;  ///< Outermost first, none 0.
  std::vector<double> values;        ///< Row-major.
};

/// What a file must look like: `{"key": array}`, or `{"key": {"name": array, ...}}` if named.
struct ArrayFormat {
  std::string_view key;
  bool named = false;
  std::size_t depth_min = 2;  ///< Least and most nesting of an array.
  std::size_t depth_max = 2;

  double element_max = std::numeric_limits<double>::max();
  bool whole = false;             ///< Elements must be whole numbers.
  std::string_view element_rule;  ///< What an element must be, in words: "a finite number, ...".

  std::string_view example;  ///< A file that would be right, for messages.
};

/// The arrays of a file, at least one, in the file's order; other keys at the top are ignored.
/// Elements are finite, not negative and as the format says; each array's sum is below 2^63.
///
/// kInvalidArgument or kResourceExhausted (limits.hpp) with "source:line:column: error: ...".
[[nodiscard]] Result<std::vector<NumberArray>> read_arrays(std::string_view text,
                                                           std::string_view source_name,
                                                           const ArrayFormat& format);

/// The failure "source: error: where: what" of a file whose JSON was sound.
[[nodiscard]] tl::unexpected<Error> fail_in_file(std::string_view source_name,
                                                 std::string_view where, std::string_view what);

}  // namespace eplb::formats
