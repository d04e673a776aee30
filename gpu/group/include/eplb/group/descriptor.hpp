#pragma once

#include <unistd.h>

#include <utility>

namespace eplb::group {

/// Owns a file descriptor.
class Descriptor {
 public:
  Descriptor() = default;

  explicit Descriptor(int value) : value_(value) {}

  ~Descriptor() { reset(); }

  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}

  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      reset();
      value_ = std::exchange(other.value_, -1);
    }
    return *this;
  }

  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  void reset() {
    if (value_ >= 0) {
      ::close(std::exchange(value_, -1));
    }
  }

  /// -1 if it owns none.
  [[nodiscard]] int get() const { return value_; }

  [[nodiscard]] explicit operator bool() const { return value_ >= 0; }

 private:
  int value_ = -1;
};

}  // namespace eplb::group
