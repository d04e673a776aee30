#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "checks.hpp"
#include "eplb/core/env/clock.hpp"
#include "eplb/core/env/completion.hpp"
#include "eplb/core/row_address.hpp"
#include "eplb/gpu/buffer.hpp"
#include "eplb/gpu/memory/device_memory.hpp"
#include "eplb/gpu/stream.hpp"

namespace eplb::gpu::test {

enum class Ownership : std::uint8_t { kOurs, kEngine };

struct FixtureOptions {
  std::int32_t slot_count = 0;
  std::int32_t landing_rows = 0;
  std::vector<std::vector<std::int64_t>> tensor_bytes;  ///< [layers][tensors]
  Ownership ownership = Ownership::kEngine;
  std::int64_t misalignment_bytes = 0;  ///< Of an engine's tensors, bases and strides alike.
};

/// Of the measured model: w13, its scales, w2, its scales; 18,800,640 bytes an expert.
[[nodiscard]] std::vector<std::int64_t> measured_expert();

/// Slot s of a rank holds this expert at first, in every layer.
[[nodiscard]] inline std::int32_t first_occupant(RankId rank, std::int32_t slot) {
  return rank.value * 1000 + slot;
}

/// A rank with weights whose content says whose it is, and a landing pool full of poison.
class RankFixture {
 public:
  RankFixture(SymmetricHeap& heap, const PeerGroup& group, FixtureOptions options);

  /// Reserves, fills and poisons. Throws std::runtime_error if refused.
  void prepare();

  [[nodiscard]] env::MemoryLayout layout() const;

  [[nodiscard]] DeviceMemory& memory() { return memory_; }

  [[nodiscard]] const FixtureOptions& options() const { return options_; }

  [[nodiscard]] const Stream& stream() const { return stream_; }

  void fill_slots() const;
  void poison_landing() const;

  /// Whether the row holds the expert, byte for byte, and poison in the gaps that no tensor fills.
  void expect_landing(Checks& checks, std::int32_t row, LayerId layer, std::int32_t expert) const;
  void expect_poison(Checks& checks, std::int32_t row) const;
  void expect_slot(Checks& checks, LayerId layer, std::int32_t slot, std::int32_t expert) const;

 private:
  [[nodiscard]] std::vector<std::byte> download(const std::byte* begin, std::int64_t bytes) const;
  [[nodiscard]] std::vector<std::byte> download_landing(std::int32_t row) const;

  PeerGroup group_;
  FixtureOptions options_;
  std::vector<DeviceBuffer<std::byte>> engine_buffers_;
  DeviceMemory memory_;
  Stream stream_;
};

/// What fill_row writes, by the host.
[[nodiscard]] std::vector<std::byte> expected_tensor(LayerId layer, std::int32_t expert,
                                                     std::size_t tensor, std::int64_t bytes);

/// A real clock, for what has no say over a result.
class HostClock final : public env::Clock {
 public:
  [[nodiscard]] std::int64_t now_ns() const override {
    return std::chrono::steady_clock::now().time_since_epoch().count();
  }
};

/// Polls until the ticket has ended, or for `kWaitLimit`.
inline constexpr std::chrono::seconds kWaitLimit{25};

template <typename Issuer>
[[nodiscard]] env::Completion wait_for(Issuer& issuer, env::Ticket ticket) {
  const auto end = std::chrono::steady_clock::now() + kWaitLimit;
  env::Completion completion = issuer.poll(ticket);
  while (completion == env::Completion::kPending && std::chrono::steady_clock::now() < end) {
    completion = issuer.poll(ticket);
  }
  if (completion == env::Completion::kPending) {
    issuer.check();
  }
  return completion;
}

[[nodiscard]] inline RowAddress slot_of(LayerId layer, RankId rank, std::int32_t slot) {
  return {.region = weights_region(layer), .rank = rank, .row = slot};
}

[[nodiscard]] inline RowAddress landing_of(RankId rank, std::int32_t row) {
  return {.region = kLandingRegion, .rank = rank, .row = row};
}

}  // namespace eplb::gpu::test
