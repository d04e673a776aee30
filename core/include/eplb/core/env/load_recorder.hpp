#pragma once

#include <cstdint>

#include "eplb/core/load.hpp"

namespace eplb::env {

/// What becomes of the counts of a forward that has ended.
struct PassUse {
  bool record = false;  ///< The logical counts go to the load window.
  bool log = false;     ///< The physical counts go to the balancedness log.
  bool dummy = false;   ///< Its tokens were nobody's: all counts are taken as 0.
};

/// Counts of one forward on this rank.
struct RecordedPass {
  std::int64_t step = 0;  ///< As close_pass was told.
  PassUse use;
  LoadMatrix logical;   ///< [layers, experts].
  LoadMatrix physical;  ///< [layers, slots] if `use.log`, else empty.
  /// Of `physical`, [layers, ranks], where the world has summed it already; else empty.
  LoadMatrix rank_loads = {};
};

/// Counts of the forwards, by logical expert, read back late but in order.
class LoadRecorder {
 public:
  LoadRecorder() = default;
  LoadRecorder(const LoadRecorder&) = delete;
  LoadRecorder& operator=(const LoadRecorder&) = delete;
  LoadRecorder(LoadRecorder&&) = delete;
  LoadRecorder& operator=(LoadRecorder&&) = delete;
  virtual ~LoadRecorder() = default;

  /// Whether this rank counts at all. Only sums over ranks are used, so a simulated group may
  /// account all its counts on one rank.
  [[nodiscard]] virtual bool counts_here() const = 0;

  /// Opens or shuts the gate for the forwards to come. Called only when the value flips.
  virtual void set_recording(bool recording) = 0;

  /// Ends the pass of the forward that has just ended; its counts are read back if they have a use,
  /// and cleared. Physical counts exist only where the pass is logged.
  virtual void close_pass(std::int64_t step, PassUse use) = 0;

  /// The oldest used pass that has landed and was not yet taken; null if none. Valid until the next
  /// call.
  [[nodiscard]] virtual const RecordedPass* try_take() = 0;
};

}  // namespace eplb::env
