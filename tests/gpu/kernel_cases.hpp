#pragma once

#include <cstdint>

#include "checks.hpp"
#include "draw.hpp"

namespace eplb::gpu::test {

struct Setting {
  std::uint64_t seed = 20261130;
  std::int32_t row_count_max = INT32_MAX;  ///< Larger batches are left out: sanitizers are slow.
};

// The groups of the program's cases. Each draws from a generator of its own, so that one can be
// replayed without the others.
void test_ground_floor(Checks& checks, const Setting& setting);
void test_map_and_record(Checks& checks, const Setting& setting);
void test_map_update(Checks& checks, const Setting& setting);
void test_finish_pass(Checks& checks, const Setting& setting);
void test_pass_recorder(Checks& checks, const Setting& setting);
void test_replay(Checks& checks, const Setting& setting);
void test_quantize(Checks& checks, const Setting& setting);
void test_staging(Checks& checks, const Setting& setting);
void test_staging_replay(Checks& checks, const Setting& setting);
void test_router_score(Checks& checks, const Setting& setting);
void test_router(Checks& checks, const Setting& setting);
void test_router_replay(Checks& checks, const Setting& setting);

}  // namespace eplb::gpu::test
