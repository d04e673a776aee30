#pragma once

#include <cstdint>

namespace eplb::test {

/// Seed of this test run: the environment's EPLB_SEED, else 1, so that a plain run is repeatable.
[[nodiscard]] std::uint64_t run_seed();

/// Tells doctest to print, should this scope fail, the seed and how to run it again.
/// Use as: INFO(replay_hint(seed)).
[[nodiscard]] const char* replay_hint(std::uint64_t seed);

}  // namespace eplb::test
