#pragma once

#include "eplb/core/load.hpp"

namespace eplb::env {

/// Counts of the forwards, by logical expert, read back late but in order.
class LoadRecorder {
 public:
  LoadRecorder() = default;
  LoadRecorder(const LoadRecorder&) = delete;
  LoadRecorder& operator=(const LoadRecorder&) = delete;
  LoadRecorder(LoadRecorder&&) = delete;
  LoadRecorder& operator=(LoadRecorder&&) = delete;
  virtual ~LoadRecorder() = default;

  /// Opens or shuts the gate for the forwards to come. Called only when the value flips.
  virtual void set_recording(bool recording) = 0;

  /// Ends the pass of the forward that has just ended: its counts are read back, or dropped.
  virtual void close_pass(bool keep) = 0;

  /// The oldest kept pass that has landed and was not yet taken, [layers, experts]; null if none.
  /// Valid until the next call.
  [[nodiscard]] virtual const LoadMatrix* try_take() = 0;
};

}  // namespace eplb::env
