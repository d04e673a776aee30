#pragma once

#include <cstdint>

namespace eplb::gpu::device {

// NOTE [loads side by side] The compiler moves a load down to where its value is first needed, even
// behind a branch on another load: what could be one trip to memory becomes two. These stay where
// they are written.

__device__ inline std::int32_t load_now(const std::int32_t* from) {
  std::int32_t value = 0;
  asm volatile("ld.global.s32 %0, [%1];" : "=r"(value) : "l"(__cvta_generic_to_global(from)));
  return value;
}

__device__ inline std::int64_t load_now(const std::int64_t* from) {
  std::int64_t value = 0;
  asm volatile("ld.global.s64 %0, [%1];" : "=l"(value) : "l"(__cvta_generic_to_global(from)));
  return value;
}

__device__ inline float load_now(const float* from) {
  float value = 0;
  asm volatile("ld.global.f32 %0, [%1];" : "=f"(value) : "l"(__cvta_generic_to_global(from)));
  return value;
}

__device__ inline std::uint32_t load_now(const std::uint8_t* from) {
  std::uint32_t value = 0;
  asm volatile("ld.global.u8 %0, [%1];" : "=r"(value) : "l"(__cvta_generic_to_global(from)));
  return value;
}

/// `fallback` without anything to load from.
__device__ inline std::int32_t load_now_or(const std::int32_t* from, std::int32_t fallback) {
  return from != nullptr ? load_now(from) : fallback;
}

}  // namespace eplb::gpu::device
