// Goal: the step kernel hands over all counts, clears both passes and adds up the ranks' loads.
// Method: drawn counts in shapes with and without a rest behind whole vectors, outputs poisoned.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "eplb/gpu/buffer.hpp"
#include "eplb/gpu/step.hpp"
#include "eplb/gpu/stream.hpp"
#include "kernel_cases.hpp"
#include "reference/finish_pass_reference.hpp"

namespace eplb::gpu::test {
namespace {

struct PassShape {
  std::int32_t layer_count;
  std::int32_t expert_count;
  std::int32_t rank_count;
  std::int32_t slots_per_rank;
};

constexpr std::array kShapes{
    PassShape{.layer_count = 58, .expert_count = 256, .rank_count = 32, .slots_per_rank = 9},
    PassShape{.layer_count = 40, .expert_count = 384, .rank_count = 4, .slots_per_rank = 100},
    PassShape{.layer_count = 3, .expert_count = 5, .rank_count = 2, .slots_per_rank = 3},
    PassShape{.layer_count = 1, .expert_count = 1, .rank_count = 1, .slots_per_rank = 1},
    PassShape{.layer_count = 7, .expert_count = 147, .rank_count = 3, .slots_per_rank = 65},
    PassShape{.layer_count = 0, .expert_count = 256, .rank_count = 32, .slots_per_rank = 9},
};

std::vector<std::int32_t> drawn_counts(std::int32_t size, Draw& draw) {
  std::vector<std::int32_t> counts(static_cast<std::size_t>(size));
  std::ranges::generate(counts, [&] { return draw.below(200'000); });
  return counts;
}

struct Manner {
  bool has_snapshot;
  bool has_slots;
  bool has_rank_loads;
};

void compare(Checks& checks, const PassShape& shape, const Manner& manner, Draw& draw) {
  constexpr std::uint8_t kPoison = 0xA5;
  const Stream stream;
  const std::vector<std::int32_t> counts =
      drawn_counts(shape.layer_count * shape.expert_count, draw);
  const std::vector<std::int32_t> slot_counts =
      drawn_counts(shape.layer_count * shape.rank_count * shape.slots_per_rank, draw);
  const DeviceBuffer<std::int32_t> pass(counts.size());
  const DeviceBuffer<std::int32_t> snapshot(counts.size());
  const DeviceBuffer<std::int32_t> slots(slot_counts.size());
  const DeviceBuffer<std::int32_t> loads(
      static_cast<std::size_t>(shape.layer_count * shape.rank_count));
  pass.upload(counts, stream.get());
  slots.upload(slot_counts, stream.get());
  if (shape.layer_count > 0) {
    snapshot.fill_bytes(kPoison, stream.get());
    loads.fill_bytes(kPoison, stream.get());
  }

  finish_pass({.layer_count = shape.layer_count,
               .expert_count = shape.expert_count,
               .pass_counts = pass.data(),
               .snapshot_counts = manner.has_snapshot ? snapshot.data() : nullptr,
               .rank_count = shape.rank_count,
               .slots_per_rank = shape.slots_per_rank,
               .pass_slot_counts = manner.has_slots ? slots.data() : nullptr,
               .rank_loads = manner.has_rank_loads ? loads.data() : nullptr},
              stream.get());

  const std::string what = std::to_string(shape.layer_count) + " layers x " +
                           std::to_string(shape.expert_count) + " experts: ";
  const std::vector<std::int32_t> zeros(counts.size(), 0);
  checks.expect_equal<std::int32_t>(pass.download(stream.get()), zeros, what + "pass cleared");
  if (manner.has_snapshot) {
    checks.expect_equal<std::int32_t>(snapshot.download(stream.get()), counts, what + "snapshot");
  }
  const std::vector<std::int32_t> no_slots(slot_counts.size(), 0);
  checks.expect_equal<std::int32_t>(slots.download(stream.get()),
                                    manner.has_slots ? no_slots : slot_counts, what + "slots");
  if (manner.has_slots && manner.has_rank_loads) {
    checks.expect_equal<std::int32_t>(loads.download(stream.get()),
                                      rank_loads_reference(slot_counts, shape.slots_per_rank),
                                      what + "rank loads");
  }
}

}  // namespace

void test_finish_pass(Checks& checks, const Setting& setting) {
  Draw draw(setting.seed);
  for (const PassShape& shape : kShapes) {
    for (const bool has_snapshot : {false, true}) {
      for (const bool has_slots : {false, true}) {
        for (const bool has_rank_loads : {false, true}) {
          compare(checks, shape,
                  {.has_snapshot = has_snapshot,
                   .has_slots = has_slots,
                   .has_rank_loads = has_rank_loads},
                  draw);
        }
      }
    }
  }
}

}  // namespace eplb::gpu::test
