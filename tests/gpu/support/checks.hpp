#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

namespace eplb::gpu::test {

/// Counts what was compared and what differed; tells the first differences in full.
class Checks {
 public:
  void expect(bool holds, std::string_view what) {
    ++check_count_;
    if (!holds) {
      tell(std::string(what));
    }
  }

  /// Whether equal, element by element.
  template <typename T>
  bool expect_equal(std::span<const T> actual, std::span<const T> expected, std::string_view what) {
    ++check_count_;
    if (actual.size() != expected.size()) {
      tell(std::string(what) + ": another size");
      return false;
    }
    for (std::size_t index = 0; index < actual.size(); ++index) {
      if (actual[index] != expected[index]) {
        tell(std::string(what) + " [" + std::to_string(index) + "]: expected " +
             std::to_string(expected[index]) + ", got " + std::to_string(actual[index]));
        return false;
      }
    }
    return true;
  }

  [[nodiscard]] std::int64_t check_count() const { return check_count_; }

  [[nodiscard]] std::int64_t failure_count() const { return failure_count_; }

 private:
  void tell(const std::string& message) {
    constexpr std::int64_t kToldMax = 20;
    if (++failure_count_ <= kToldMax) {
      std::fprintf(stderr, "  FAILED %s\n", message.c_str());
    }
  }

  std::int64_t check_count_ = 0;
  std::int64_t failure_count_ = 0;
};

}  // namespace eplb::gpu::test
