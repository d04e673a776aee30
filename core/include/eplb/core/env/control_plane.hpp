#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "eplb/core/failure.hpp"
#include "eplb/core/status.hpp"

namespace eplb::env {

/// Names a sum, so that ranks may start several in any order.
struct SumKey {
  enum class Kind : std::uint8_t { kWindow, kBalancedness };

  Kind kind = Kind::kWindow;
  std::int64_t index = 0;  ///< Rearrangement, or step.

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 misreads a defaulted comparison.
  friend constexpr auto operator<=>(const SumKey&, const SumKey&) = default;
};

/// Small messages between the group's ranks. Nothing waits: what has not arrived is not there yet.
/// Reliable until a rank is lost, which ends the group. Messages may be late, come twice and
/// overtake each other: they are told apart by their keys.
class ControlPlane {
 public:
  ControlPlane() = default;
  ControlPlane(const ControlPlane&) = delete;
  ControlPlane& operator=(const ControlPlane&) = delete;
  ControlPlane(ControlPlane&&) = delete;
  ControlPlane& operator=(ControlPlane&&) = delete;
  virtual ~ControlPlane() = default;

  [[nodiscard]] virtual RankId rank() const = 0;

  /// Makes this rank's status known to all, itself included. The first of a key counts.
  virtual void post(const Status& status) = 0;

  /// A rank's status of a round; null until it has arrived. Kept until this rank posts a round that
  /// is more than 64 on.
  [[nodiscard]] virtual const Status* find(RankId rank, const RoundKey& key) const = 0;

  /// Leading layers of a rearrangement whose landing rows this rank has emptied: never falls.
  virtual void post_retired(std::int64_t rearrangement, std::int32_t layers) = 0;

  /// The most that has arrived of a rank's; 0 before any.
  [[nodiscard]] virtual std::int32_t retired(RankId rank, std::int64_t rearrangement) const = 0;

  /// Tells all that this rank is alive, for the time in which it has nothing to post.
  virtual void post_heartbeat() = 0;

  /// When anything of the rank's last arrived, by this rank's clock; 0 before.
  [[nodiscard]] virtual std::int64_t heard_ns(RankId rank) const = 0;

  /// Adds this rank's values to the sum of a key. All ranks give the same number of values, once.
  virtual void start_sum(const SumKey& key, std::span<const double> values) = 0;

  /// The sum once all ranks' values are in it, added in order of ranks, so that every rank gets the
  /// same bits. Null until then; once taken, it is forgotten.
  [[nodiscard]] virtual std::shared_ptr<const std::vector<double>> try_take_sum(
      const SumKey& key) = 0;

  /// Ends the group. The first failure of all ranks' counts.
  virtual void end_group(const Failure& failure) = 0;

  /// Why the group has ended, the same on every rank; none while it lives. A rank that is lost ends
  /// it too (FailureCause::kRankLost).
  [[nodiscard]] virtual std::optional<Failure> group_failure() const = 0;
};

}  // namespace eplb::env
