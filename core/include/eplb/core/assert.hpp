#pragma once

#include <cstdint>

namespace eplb {

/// A broken promise between two pieces of our own code. No user input may reach one.
struct AssertionFailure {
  const char* condition;
  std::int64_t left;   ///< The first value of the condition, or 0 where none was given.
  std::int64_t right;  ///< The second value.
  const char* file;
  int line;
};

/// Called before the program ends; a runner adds what it knows (rank, step, seed).
using AssertionHandler = void (*)(const AssertionFailure&);

/// Replaces the handler and returns the one before. The default prints to stderr.
AssertionHandler set_assertion_handler(AssertionHandler handler);

[[noreturn]] void assertion_failed(const AssertionFailure& failure);

}  // namespace eplb

/// Always on, in every build: a balancer that goes on with a broken placement serves wrong weights.
#define EPLB_ASSERT(condition)                                          \
  do {                                                                  \
    if (!(condition)) [[unlikely]] {                                    \
      ::eplb::assertion_failed({#condition, 0, 0, __FILE__, __LINE__}); \
    }                                                                   \
  } while (false)

/// As EPLB_ASSERT, for one comparison; prints both values. `op` is any comparison operator.
#define EPLB_ASSERT_OP(left_value, op, right_value)                                           \
  do {                                                                                        \
    const auto eplb_left = static_cast<std::int64_t>(left_value);                             \
    const auto eplb_right = static_cast<std::int64_t>(right_value);                           \
    if (!(eplb_left op eplb_right)) [[unlikely]] {                                            \
      ::eplb::assertion_failed(                                                               \
          {#left_value " " #op " " #right_value, eplb_left, eplb_right, __FILE__, __LINE__}); \
    }                                                                                         \
  } while (false)
