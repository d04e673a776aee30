#pragma once

#include <cstdint>

#include "eplb/core/migration_plan.hpp"

namespace eplb::env {

/// Completion of an operation. Grows with each operation of its issuer, so that a poll can never be
/// mistaken for that of another one.
struct Ticket {
  std::int64_t value = 0;

  friend constexpr auto operator<=>(const Ticket&, const Ticket&) = default;
};

/// Brings rows across ranks into landing rows. Never blocks.
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  Transport(Transport&&) = delete;
  Transport& operator=(Transport&&) = delete;
  virtual ~Transport() = default;

  /// Starts a layer's remote and local transfers into landing rows that the caller knows to be
  /// free.
  [[nodiscard]] virtual Ticket start(const LayerMigration& layer) = 0;

  /// Whether all rows of `ticket` have landed on all ranks.
  [[nodiscard]] virtual bool has_landed(Ticket ticket) const = 0;
};

}  // namespace eplb::env
