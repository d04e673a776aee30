#pragma once

#include <memory>

#include "eplb/core/balancer.hpp"
#include "eplb/core/env/environment.hpp"
#include "eplb/group/recorded_calls.hpp"

namespace eplb::group {

/// Stands between a balancer and its environment, and keeps all that the balancer asks and is
/// answered, in its own order: enough to run it again, call for call, anywhere (`replay`). Grows by
/// about 150 bytes a call, some dozens of calls a poll, so it is for tests and for hunts.
///
/// The balancer's owner makes the entries through it; never two at once, as with a balancer.
class Recording {
 public:
  /// What the environment refers to must outlive the recording.
  explicit Recording(const env::Environment& environment);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  Recording(Recording&&) = delete;
  Recording& operator=(Recording&&) = delete;

  /// Balancer::create in the recorded environment. The balancer must not outlive the recording.
  [[nodiscard]] Result<std::unique_ptr<Balancer>> create(const Balancer::Settings& settings);

  [[nodiscard]] StepDecision on_step(Balancer& balancer, StepKind kind);
  bool progress(Balancer& balancer);
  void drain(Balancer& balancer);
  void resume(Balancer& balancer);
  [[nodiscard]] Result<void> release_memory(Balancer& balancer);
  [[nodiscard]] Result<void> reserve_memory(Balancer& balancer);

  /// Not while an entry runs.
  [[nodiscard]] const RecordedCalls& calls() const;

 private:
  class Desk;

  std::unique_ptr<Desk> desk_;
};

/// Makes the recorded entries on a fresh balancer, answers its calls as they were answered, and
/// gives the placement that it ends with. kInternal says where it first did something else.
[[nodiscard]] Result<Placement> replay(const Balancer::Settings& settings,
                                       const RecordedCalls& calls);

}  // namespace eplb::group
