#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace eplb::group {

static_assert(std::endian::native == std::endian::little, "what travels is little-endian");

using Bytes = std::vector<std::byte>;

/// Writes values one after another, unpadded.
class ByteWriter {
 public:
  template <typename Value>
  void put(Value value) {
    static_assert(std::is_arithmetic_v<Value> || std::is_enum_v<Value>);
    append(&value, sizeof(value));
  }

  /// With its length before it.
  void put_text(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    append(text.data(), text.size());
  }

  /// With their count before them.
  template <typename Value>
  void put_all(std::span<const Value> values) {
    static_assert(std::is_trivially_copyable_v<Value>);
    put(static_cast<std::uint32_t>(values.size()));
    append(values.data(), values.size_bytes());
  }

  [[nodiscard]] const Bytes& bytes() const { return bytes_; }

 private:
  void append(const void* data, std::size_t size) {
    const std::size_t end = bytes_.size();
    bytes_.resize(end + size);
    if (size > 0) {
      std::memcpy(bytes_.data() + end, data, size);
    }
  }

  Bytes bytes_;
};

/// Reads what a ByteWriter wrote. Reading past the end gives zeros and is remembered, so that a
/// message is judged once, after it was read.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <typename Value>
  [[nodiscard]] Value get() {
    Value value{};
    copy_out(&value, sizeof(value));
    return value;
  }

  [[nodiscard]] std::string get_text() {
    std::string text(fitting_count(1), '\0');
    copy_out(text.data(), text.size());
    return text;
  }

  template <typename Value>
  [[nodiscard]] std::vector<Value> get_all() {
    std::vector<Value> values(fitting_count(sizeof(Value)));
    copy_out(values.data(), values.size() * sizeof(Value));
    return values;
  }

  /// Whether all that was read was there.
  [[nodiscard]] bool intact() const { return !overrun_; }

  /// Whether it was, and nothing more is.
  [[nodiscard]] bool complete() const { return !overrun_ && bytes_.empty(); }

 private:
  /// A count that the bytes left do not bear out is taken as 0, before anything is allocated.
  [[nodiscard]] std::size_t fitting_count(std::size_t item_bytes) {
    const auto count = get<std::uint32_t>();
    if (count > bytes_.size() / item_bytes) {
      overrun_ = true;
      return 0;
    }
    return count;
  }

  void copy_out(void* target, std::size_t size) {
    if (size > bytes_.size()) {
      overrun_ = true;
      return;
    }
    if (size > 0) {
      std::memcpy(target, bytes_.data(), size);
      bytes_ = bytes_.subspan(size);
    }
  }

  std::span<const std::byte> bytes_;
  bool overrun_ = false;
};

}  // namespace eplb::group
