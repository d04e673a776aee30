#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace eplb {

/// Why an operation failed. Expected failures travel as values; the core never throws.
enum class ErrorCode : std::uint8_t {
  kInvalidArgument,
  kInvalidConfig,
  kUnsupported,
  kResourceExhausted,
  kTimeout,
  kPeerFailed,
  kAborted,
  kDevice,
  kInternal,
};

[[nodiscard]] std::string_view to_string(ErrorCode code);

/// Where in our code an error was made.
struct Site {
  const char* file;
  int line;
};

struct Error {
  ErrorCode code;
  std::string message;
  Site site;
};

template <typename T>
using Result = tl::expected<T, Error>;

/// Makes the failing branch of a Result. The site is the caller's.
[[nodiscard]] inline tl::unexpected<Error> fail(ErrorCode code, std::string message,
                                                const char* file = __builtin_FILE(),
                                                int line = __builtin_LINE()) {
  return tl::unexpected<Error>(Error{code, std::move(message), Site{file, line}});
}

}  // namespace eplb
