#pragma once

#include <cstdint>

#include "eplb/core/ids.hpp"

namespace eplb::sim {

/// How long a group's hosts and devices take, but for rows that move, and which of them go wrong:
/// figures of a machine, or drawn at random. Durations are in ns and not negative.
class GroupTiming {
 public:
  GroupTiming() = default;
  GroupTiming(const GroupTiming&) = delete;
  GroupTiming& operator=(const GroupTiming&) = delete;
  GroupTiming(GroupTiming&&) = delete;
  GroupTiming& operator=(GroupTiming&&) = delete;
  virtual ~GroupTiming() = default;

  /// A control message on its way.
  [[nodiscard]] virtual std::int64_t message_ns(RankId from, RankId to) = 0;

  /// A sum over all ranks, from the last rank's part to a result that can be told.
  [[nodiscard]] virtual std::int64_t sum_ns(std::int64_t /*bytes*/) { return 0; }

  /// Whether the message comes a second time, after another message_ns.
  [[nodiscard]] virtual bool repeats_message() { return false; }

  /// Whether a transport cannot even start what it is asked for.
  [[nodiscard]] virtual bool refuses_transfer(RankId /*rank*/) { return false; }

  /// A map's way to the device, at its point of the forward queue.
  [[nodiscard]] virtual std::int64_t publish_ns(RankId rank) = 0;

  /// A pass's counts, so many bytes of them, on their way back to the host.
  [[nodiscard]] virtual std::int64_t read_back_ns(RankId rank, std::int64_t bytes) = 0;

  [[nodiscard]] virtual std::int64_t plan_ns(RankId rank, std::int32_t layer_count) = 0;

  [[nodiscard]] virtual bool refuses_memory(RankId /*rank*/) { return false; }

  /// From the end of a forward to its on_step.
  [[nodiscard]] virtual std::int64_t host_ns(RankId rank) = 0;

  /// From something that has ended to the progress that notices it.
  [[nodiscard]] virtual std::int64_t poll_ns(RankId rank) = 0;
};

}  // namespace eplb::sim
