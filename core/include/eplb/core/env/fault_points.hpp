#pragma once

#include <cstdint>

namespace eplb::env {

/// Places in the core where a simulator may make the unlikely happen. All of it is legal: the core
/// must go on serving the right weights.
enum class FaultPoint : std::uint8_t {
  kOneRowBatches,   ///< Every transfer is a batch of its own.
  kRotatedRows,     ///< Landing rows are dealt from another start.
  kEveryLayer,      ///< Layers that do not change are moved too.
  kSkippedPoll,     ///< A poll is put off to the next call.
  kRepeatedStatus,  ///< A status is posted twice.
  kShortDeadline,   ///< A rank's own work is given up at once.
};

inline constexpr int kFaultPointCount = 6;

/// Never fires outside a test of the core.
class FaultPoints {
 public:
  FaultPoints() = default;
  FaultPoints(const FaultPoints&) = delete;
  FaultPoints& operator=(const FaultPoints&) = delete;
  FaultPoints(FaultPoints&&) = delete;
  FaultPoints& operator=(FaultPoints&&) = delete;
  virtual ~FaultPoints() = default;

  /// For what a rank may do alone.
  [[nodiscard]] virtual bool fires(FaultPoint point) = 0;

  /// For what all ranks must do alike: a function of the point and the occasion only.
  [[nodiscard]] virtual bool fires_alike(FaultPoint point, std::int64_t occasion) const = 0;
};

/// The production side.
class NoFaultPoints final : public FaultPoints {
 public:
  [[nodiscard]] bool fires(FaultPoint /*point*/) override { return false; }

  [[nodiscard]] bool fires_alike(FaultPoint /*point*/, std::int64_t /*occasion*/) const override {
    return false;
  }
};

}  // namespace eplb::env
