#pragma once

#include <compare>
#include <cstdint>

namespace eplb::env {

/// Completion of an operation. Grows with each operation of its issuer, so that a poll can never be
/// mistaken for that of another one. 0 is no operation.
struct Ticket {
  std::int64_t value = 0;

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 misreads a defaulted comparison.
  friend constexpr auto operator<=>(const Ticket&, const Ticket&) = default;
};

/// How an operation stands. What has failed has ended: it touches no row any more.
enum class Completion : std::uint8_t {
  kPending,
  kDone,
  kFailed,
};

}  // namespace eplb::env
