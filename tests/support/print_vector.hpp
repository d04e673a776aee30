#pragma once

#include <doctest/doctest.h>

#include <vector>

/// Lets a failed check print the values of a vector.
template <typename T>
struct doctest::StringMaker<std::vector<T>> {
  static String convert(const std::vector<T>& values) {
    String text = "[";
    for (const T& value : values) {
      text += (text.size() == 1 ? "" : ", ") + toString(value);
    }
    return text + "]";
  }
};
