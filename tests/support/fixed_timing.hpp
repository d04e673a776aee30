#pragma once

#include <cstdint>
#include <functional>

#include "eplb/sim/event_engine.hpp"
#include "eplb/sim/group/carrier.hpp"
#include "eplb/sim/group/group_timing.hpp"
#include "eplb/sim/group/host.hpp"

namespace eplb::test {

/// Every duration as the test sets it, and what goes wrong as it says. All copies of one kind take
/// the same time, however many run at once.
class FixedTiming final : public sim::GroupTiming, public sim::FlightTiming {
 public:
  [[nodiscard]] std::int64_t message_ns(RankId from, RankId to) override {
    return from == to ? 0 : between_ranks_ns;
  }

  [[nodiscard]] bool repeats_message() override { return repeats; }

  [[nodiscard]] sim::Flight transfer(const RowCopy& copy, std::int64_t /*bytes*/,
                                     std::int64_t now_ns) override {
    return {.end_ns = now_ns + wire_ns, .failed = transfer_fails && transfer_fails(copy)};
  }

  [[nodiscard]] bool refuses_transfer(RankId rank) override { return rank == refusing_transport; }

  [[nodiscard]] sim::Flight local_copy(const RowCopy& copy, std::int64_t /*bytes*/,
                                       std::int64_t now_ns) override {
    return {.end_ns = now_ns + local_ns, .failed = local_copy_fails && local_copy_fails(copy)};
  }

  [[nodiscard]] std::int64_t publish_ns(RankId /*rank*/) override { return map_ns; }

  [[nodiscard]] std::int64_t read_back_ns(RankId /*rank*/, std::int64_t /*bytes*/) override {
    return counts_ns;
  }

  [[nodiscard]] std::int64_t plan_ns(RankId /*rank*/, std::int32_t /*layer_count*/) override {
    return policy_ns;
  }

  [[nodiscard]] bool refuses_memory(RankId rank) override { return rank == refusing_memory; }

  [[nodiscard]] std::int64_t host_ns(RankId /*rank*/) override { return 0; }

  [[nodiscard]] std::int64_t poll_ns(RankId /*rank*/) override { return 0; }

  // What the test sets.
  std::int64_t between_ranks_ns = 10;
  std::int64_t wire_ns = 100;
  std::int64_t local_ns = 20;
  std::int64_t map_ns = 2;
  std::int64_t counts_ns = 5;
  std::int64_t policy_ns = 0;
  bool repeats = false;
  std::function<bool(const RowCopy&)> transfer_fails;
  std::function<bool(const RowCopy&)> local_copy_fails;
  RankId refusing_transport{-1};
  RankId refusing_memory{-1};
};

/// A host that only counts what it is told.
class CountingHost final : public sim::Host {
 public:
  void wake() override { ++wake_count; }

  void forward_reached() override { ++forward_count; }

  int wake_count = 0;
  int forward_count = 0;
};

/// Runs until nothing is pending any more.
inline void run_all(sim::EventEngine& engine) {
  while (engine.run_next()) {
  }
}

}  // namespace eplb::test
