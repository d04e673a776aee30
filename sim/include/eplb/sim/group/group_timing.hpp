#pragma once

#include <cstdint>

#include "eplb/core/ids.hpp"
#include "eplb/core/row_address.hpp"

namespace eplb::sim {

/// When a copy ends, and whether it went well.
struct Flight {
  std::int64_t end_ns = 0;
  bool failed = false;
};

/// How long things take in a simulated group, and which of them go wrong: figures of a machine, or
/// drawn at random. Durations are in ns and not negative.
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

  /// Whether the message comes a second time, after another message_ns.
  [[nodiscard]] virtual bool repeats_message() { return false; }

  /// A row between ranks, started now. Its end is not before `now_ns`.
  [[nodiscard]] virtual Flight transfer(const RowCopy& copy, std::int64_t bytes,
                                        std::int64_t now_ns) = 0;

  /// Whether a transport cannot even start what it is asked for.
  [[nodiscard]] virtual bool refuses_transfer(RankId /*rank*/) { return false; }

  /// A row within a rank, one of a batch that starts now on one queue.
  [[nodiscard]] virtual Flight local_copy(const RowCopy& copy, std::int64_t bytes,
                                          std::int64_t now_ns) = 0;

  /// A map's way to the device, at its point of the forward queue.
  [[nodiscard]] virtual std::int64_t publish_ns(RankId rank) = 0;

  /// A pass's counts on their way back to the host.
  [[nodiscard]] virtual std::int64_t read_back_ns(RankId rank) = 0;

  [[nodiscard]] virtual std::int64_t plan_ns(RankId rank, std::int32_t layer_count) = 0;

  [[nodiscard]] virtual bool refuses_memory(RankId /*rank*/) { return false; }

  /// From the end of a forward to its on_step.
  [[nodiscard]] virtual std::int64_t host_ns(RankId rank) = 0;

  /// From something that has ended to the progress that notices it.
  [[nodiscard]] virtual std::int64_t poll_ns(RankId rank) = 0;
};

}  // namespace eplb::sim
