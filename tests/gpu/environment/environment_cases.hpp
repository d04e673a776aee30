#pragma once

#include "checks.hpp"
#include "peer/rank_world.hpp"

namespace eplb::gpu::test {

// On the host alone.
void test_refusals(Checks& checks, const RankSetting& setting);

// On one device.
void test_watch(Checks& checks, const RankSetting& setting);
void test_load_recorder(Checks& checks, const RankSetting& setting);
void test_map_publisher(Checks& checks, const RankSetting& setting);

// ServedRank::kRanks ranks on one device.
void test_rearrangements(Checks& checks, const RankSetting& setting);
void test_held(Checks& checks, const RankSetting& setting);
void test_host_staged(Checks& checks, const RankSetting& setting);
void test_sleep(Checks& checks, const RankSetting& setting);
void test_capture(Checks& checks, const RankSetting& setting);

/// Shared memory that test_host_staged wants.
[[nodiscard]] std::size_t staging_bytes();

}  // namespace eplb::gpu::test
