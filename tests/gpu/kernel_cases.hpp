#pragma once

#include "checks.hpp"
#include "draw.hpp"

namespace eplb::gpu::test {

// The groups of the program's cases. Each draws from its own generator, so that one can be replayed
// without the others.
void test_ground_floor(Checks& checks, Draw draw);
void test_map_and_record(Checks& checks, Draw draw);
void test_map_update(Checks& checks, Draw draw);
void test_finish_pass(Checks& checks, Draw draw);
void test_replay(Checks& checks, Draw draw);
void test_quantize(Checks& checks, Draw draw);
void test_staging(Checks& checks, Draw draw);
void test_staging_replay(Checks& checks, Draw draw);

}  // namespace eplb::gpu::test
