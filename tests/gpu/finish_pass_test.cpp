// Goal: the step kernel hands over all counts, clears the pass and sums what is asked for. Method:
// drawn counts of sizes with and without a rest behind whole vectors, the snapshot poisoned, or
// none; sums of the last counters by ranks, against sums of the host.
#include <algorithm>
#include <array>
#include <numeric>
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

struct RankSizes {
  std::int32_t plain_count;
  std::int32_t rank_sum_count;
  std::int32_t slots_per_rank;
};

// 58 layers of 256 experts on 32 ranks of 9 slots, one rank, more slots than a warp has lanes, and
// counters that begin where no vector does.
constexpr std::array kRankSizes{
    RankSizes{.plain_count = 58 * 256, .rank_sum_count = 58 * 32, .slots_per_rank = 9},
    RankSizes{.plain_count = 5, .rank_sum_count = 1, .slots_per_rank = 6},
    RankSizes{.plain_count = 3 * 5, .rank_sum_count = 3 * 2, .slots_per_rank = 208},
    RankSizes{.plain_count = 0, .rank_sum_count = 7, .slots_per_rank = 33}};

void compare_sums(Checks& checks, const RankSizes& sizes, Draw& draw) {
  const Stream stream;
  const std::int32_t counter_count =
      sizes.plain_count + sizes.rank_sum_count * sizes.slots_per_rank;
  const std::vector<std::int32_t> counts = drawn_counts(counter_count, draw);
  const DeviceBuffer<std::int32_t> pass(counts.size());
  const DeviceBuffer<std::int32_t> snapshot(counts.size());
  const DeviceBuffer<std::int32_t> sums(static_cast<std::size_t>(sizes.rank_sum_count));
  pass.upload(counts, stream.get());
  snapshot.fill_bytes(0xA5, stream.get());
  sums.fill_bytes(0xA5, stream.get());
  finish_pass({.counter_count = counter_count,
               .pass_counts = pass.data(),
               .snapshot_counts = snapshot.data(),
               .rank_sum_count = sizes.rank_sum_count,
               .slots_per_rank = sizes.slots_per_rank,
               .rank_sums = sums.data()},
              stream.get());
  std::vector<std::int32_t> expected;
  expected.reserve(sums.size());
  for (std::int32_t sum = 0; sum < sizes.rank_sum_count; ++sum) {
    const std::int32_t offset = sizes.plain_count + sum * sizes.slots_per_rank;
    const auto first = counts.begin() + offset;
    expected.push_back(std::accumulate(first, first + sizes.slots_per_rank, 0));
  }
  const std::string what = std::to_string(sizes.rank_sum_count) + " sums: ";
  checks.expect_equal<std::int32_t>(sums.download(stream.get()), expected, what + "sums");
  checks.expect_equal<std::int32_t>(snapshot.download(stream.get()), counts, what + "snapshot");
  checks.expect_equal<std::int32_t>(pass.download(stream.get()),
                                    std::vector<std::int32_t>(counts.size(), 0),
                                    what + "pass cleared");
}

/// Counters in stripes, others behind them, and sums of the last.
void compare_stripes(Checks& checks, std::int32_t stripe_count, std::int32_t striped_count,
                     std::int32_t rank_sum_count, Draw& draw) {
  constexpr std::int32_t kSlotsPerRank = 6;
  const Stream stream;
  const std::int32_t others = rank_sum_count * kSlotsPerRank;
  const std::vector<std::int32_t> counts =
      drawn_counts(stripe_count * striped_count + others, draw);
  const DeviceBuffer<std::int32_t> pass(counts.size());
  const DeviceBuffer<std::int32_t> snapshot(static_cast<std::size_t>(striped_count + others));
  const DeviceBuffer<std::int32_t> sums(static_cast<std::size_t>(rank_sum_count));
  pass.upload(counts, stream.get());
  snapshot.fill_bytes(0xA5, stream.get());
  finish_pass({.counter_count = striped_count + others,
               .stripe_count = stripe_count,
               .striped_count = striped_count,
               .pass_counts = pass.data(),
               .snapshot_counts = snapshot.data(),
               .rank_sum_count = rank_sum_count,
               .slots_per_rank = kSlotsPerRank,
               .rank_sums = sums.data()},
              stream.get());
  std::vector<std::int32_t> expected(static_cast<std::size_t>(striped_count), 0);
  for (std::int32_t index = 0; index < stripe_count * striped_count; ++index) {
    expected[static_cast<std::size_t>(index % striped_count)] +=
        counts[static_cast<std::size_t>(index)];
  }
  expected.insert(expected.end(), counts.end() - others, counts.end());
  std::vector<std::int32_t> expected_sums;
  for (auto first = counts.end() - others; first != counts.end(); first += kSlotsPerRank) {
    expected_sums.push_back(std::accumulate(first, first + kSlotsPerRank, 0));
  }
  const std::string what =
      std::to_string(stripe_count) + " stripes of " + std::to_string(striped_count) + ": ";
  checks.expect_equal<std::int32_t>(snapshot.download(stream.get()), expected, what + "snapshot");
  checks.expect_equal<std::int32_t>(sums.download(stream.get()), expected_sums, what + "sums");
  checks.expect_equal<std::int32_t>(pass.download(stream.get()),
                                    std::vector<std::int32_t>(counts.size(), 0),
                                    what + "pass cleared");
}

}  // namespace

void test_finish_pass(Checks& checks, const Setting& setting) {
  Draw draw(setting.seed);
  for (const std::int32_t counter_count : kCounterCounts) {
    for (const bool has_snapshot : {false, true}) {
      compare(checks, counter_count, has_snapshot, draw);
    }
  }
  for (const RankSizes& sizes : kRankSizes) {
    compare_sums(checks, sizes, draw);
  }
  for (const std::int32_t stripe_count : {1, 2, 3, 7, 8}) {
    for (const std::int32_t striped_count : {4, 16, 58 * 256}) {
      compare_stripes(checks, stripe_count, striped_count, 5, draw);
    }
  }
}

}  // namespace eplb::gpu::test
