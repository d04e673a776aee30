// Goal: ranks share a GPU only where no kernel can wait for another rank's. Method: placements and
// refusals, computed by hand from CTAs and SMs.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "../../../gpu/src/program/place_ranks.hpp"

namespace eplb::gpu::program {
namespace {

/// Each rank has one kernel of `ctas` on each of two streams, and a smaller one behind the first.
Script script_of(std::int32_t ranks, std::int32_t ctas, KernelKind kind = KernelKind::kPlain) {
  Program program{.ranks = ranks};
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    program.threads.push_back(
        {.rank = rank,
         .name = "main",
         .operations = {{LaunchOp{.stream = "a", .kind = kind, .name = "first", .ctas = ctas}},
                        {LaunchOp{.stream = "a", .name = "small", .ctas = 1}},
                        {LaunchOp{.stream = "b", .kind = kind, .name = "other", .ctas = ctas}}}});
  }
  Result<Script> script = compile(program, 1);
  REQUIRE(script.has_value());
  return std::move(*script);
}

GpuRoom room_of(const Script& script, std::int32_t devices, std::int32_t ctas_per_sm) {
  return {.device_count = devices,
          .sm_count = 10,
          .ctas_per_sm = std::vector<std::int32_t>(script.kernels.size(), ctas_per_sm)};
}

TEST_CASE("gpu ranks: each has a GPU of its own where there are enough") {
  const Script script = script_of(2, 10);
  const auto devices = place_ranks(script, room_of(script, 3, 1));
  REQUIRE(devices.has_value());
  CHECK(*devices == std::vector<std::int32_t>{0, 1});
}

TEST_CASE("gpu ranks: they share one where the largest kernels of all streams have room together") {
  const Script script = script_of(2, 5);
  // Two CTAs an SM: three SMs a stream, two streams a rank, two ranks.
  const auto refused = place_ranks(script, room_of(script, 1, 2));
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::kUnsupported);
  CHECK(refused.error().message ==
        "needs 2 GPUs, one a rank, and there are 1: the kernels of ranks that share one can take "
        "12 SMs at once, and it has 10");
  // Three CTAs an SM: two SMs a stream.
  const auto devices = place_ranks(script, room_of(script, 1, 3));
  REQUIRE(devices.has_value());
  CHECK(*devices == std::vector<std::int32_t>{0, 0});
}

TEST_CASE("gpu ranks: a plain kernel takes at most all SMs, however many CTAs it has") {
  const Script script = script_of(1, 1000);
  CHECK(place_ranks(script, room_of(script, 1, 1)).has_value());
}

TEST_CASE("gpu ranks: what could never run is refused by name") {
  const Script gang = script_of(1, 11, KernelKind::kGang);
  const auto too_large = place_ranks(gang, room_of(gang, 1, 1));
  REQUIRE_FALSE(too_large.has_value());
  CHECK(too_large.error().code == ErrorCode::kUnsupported);
  CHECK(too_large.error().message ==
        "kernel first: 11 CTAs of 128 threads and 0 KB, of which 10 can be resident on this GPU; "
        "kernel other: 11 CTAs of 128 threads and 0 KB, of which 10 can be resident on this GPU");
  const Script plain = script_of(1, 1);
  CHECK_FALSE(place_ranks(plain, room_of(plain, 1, 0)).has_value());
  CHECK_FALSE(place_ranks(plain, room_of(plain, 0, 1)).has_value());
}

}  // namespace
}  // namespace eplb::gpu::program
