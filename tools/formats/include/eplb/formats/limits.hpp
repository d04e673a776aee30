#pragma once

#include <cstddef>
#include <cstdint>

namespace eplb::formats {

// What a file may hold. Each limit is far above any real file; together they bound what reading an
// arbitrary file can cost to its text, 16 bytes a number, and a little.

inline constexpr std::uint64_t kFileBytesMax = std::uint64_t{1} << 30;

/// Numbers in all arrays of a file: a thousand windows of 61 layers and 384 experts are 23 million.
inline constexpr std::size_t kNumbersMax = std::size_t{1} << 25;

/// Keys of one object that are told apart.
inline constexpr std::size_t kKeysMax = 1024;

/// Nesting of values under keys that are not ours.
inline constexpr std::size_t kIgnoredDepthMax = 1000;

/// Text between two values, a long string's included, since a JSON lexer holds a token twice.
inline constexpr std::size_t kTokenBytesMax = std::size_t{1} << 24;

}  // namespace eplb::formats
