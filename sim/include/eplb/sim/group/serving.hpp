#pragma once

#include <cstdint>

#include "eplb/core/balancer.hpp"
#include "eplb/core/ids.hpp"

namespace eplb::sim {

/// What a group's forwards do: the engine around the balancers.
class Serving {
 public:
  Serving() = default;
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;
  Serving(Serving&&) = delete;
  Serving& operator=(Serving&&) = delete;
  virtual ~Serving() = default;

  /// All ranks have come to a forward: their maps and rows are what it will use. It begins when
  /// the group is told so (SimGroup::begin_forward), now or later.
  virtual void forward_ready() = 0;

  /// It has ended on all ranks; their balancers have not been asked yet.
  virtual void end_forward() = 0;

  /// What that forward was on a rank.
  [[nodiscard]] virtual StepKind kind_of(RankId rank) = 0;

  /// A rank may go on. True: it comes to its next forward; false: it waits for resume().
  [[nodiscard]] virtual bool proceeds(RankId rank) = 0;

  /// A rank's balancer has ended serving there.
  virtual void stopped(RankId rank) = 0;
};

}  // namespace eplb::sim
