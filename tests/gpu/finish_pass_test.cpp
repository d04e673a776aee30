// Goal: the step kernel hands over all counts and clears the pass. Method: drawn counts of sizes
// with and without a rest behind whole vectors, the snapshot poisoned, or none.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "eplb/gpu/buffer.hpp"
#include "eplb/gpu/step.hpp"
#include "eplb/gpu/stream.hpp"
#include "kernel_cases.hpp"

namespace eplb::gpu::test {
namespace {

// 58 layers of 256 experts, the same with 288 slots, 3 of 5 with 6, and sizes around a vector's.
constexpr std::array kCounterCounts{58 * 256, 58 * (256 + 288), 3 * (5 + 6), 0, 1, 3, 4, 5, 1023};

std::vector<std::int32_t> drawn_counts(std::int32_t size, Draw& draw) {
  std::vector<std::int32_t> counts(static_cast<std::size_t>(size));
  std::ranges::generate(counts, [&] { return draw.below(200'000); });
  return counts;
}

void compare(Checks& checks, std::int32_t counter_count, bool has_snapshot, Draw& draw) {
  constexpr std::uint8_t kPoison = 0xA5;
  const Stream stream;
  const std::vector<std::int32_t> counts = drawn_counts(counter_count, draw);
  const DeviceBuffer<std::int32_t> pass(counts.size());
  const DeviceBuffer<std::int32_t> snapshot(counts.size());
  pass.upload(counts, stream.get());
  if (counter_count > 0) {
    snapshot.fill_bytes(kPoison, stream.get());
  }

  finish_pass({.counter_count = counter_count,
               .pass_counts = pass.data(),
               .snapshot_counts = has_snapshot ? snapshot.data() : nullptr},
              stream.get());

  const std::string what = std::to_string(counter_count) + " counters: ";
  const std::vector<std::int32_t> zeros(counts.size(), 0);
  checks.expect_equal<std::int32_t>(pass.download(stream.get()), zeros, what + "pass cleared");
  if (has_snapshot) {
    checks.expect_equal<std::int32_t>(snapshot.download(stream.get()), counts, what + "snapshot");
  }
}

}  // namespace

void test_finish_pass(Checks& checks, const Setting& setting) {
  Draw draw(setting.seed);
  for (const std::int32_t counter_count : kCounterCounts) {
    for (const bool has_snapshot : {false, true}) {
      compare(checks, counter_count, has_snapshot, draw);
    }
  }
}

}  // namespace eplb::gpu::test
