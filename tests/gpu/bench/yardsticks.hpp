#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "eplb/gpu/map_and_record.hpp"

namespace eplb::gpu::bench {

// What a figure of ours is held against, in the same harness and the same run.

/// The published design: a thread a pick, a lookup in global memory and one global atomic for each
/// count. Prefix and record gate as ours, no row mask.
template <typename Id>
void map_with_global_atomics(const MapArguments<Id>& arguments, cudaStream_t stream);

/// Ids read and written once, nothing between: the bytes of map_and_record without its work.
void copy_ids(const std::int32_t* from, std::int32_t* to, std::int64_t count, cudaStream_t stream);

}  // namespace eplb::gpu::bench
