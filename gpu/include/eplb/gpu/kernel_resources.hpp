#pragma once

#include <cstddef>
#include <string>

namespace eplb::gpu {

/// How a kernel is launched where it is asked about.
struct BlockSize {
  int thread_count = 0;
  std::size_t dynamic_shared_bytes = 0;
};

/// What a kernel takes of a multiprocessor.
struct KernelResources {
  std::string name;
  BlockSize block;
  int register_count = 0;               ///< A thread.
  std::size_t static_shared_bytes = 0;  ///< A block, beside the dynamic ones.
  std::size_t local_bytes = 0;          ///< A thread; more than 0 means spills or indexed arrays.
  int blocks_per_multiprocessor = 0;
  double occupancy = 0;  ///< Resident threads over what a multiprocessor can hold.
};

/// Asks the driver about `kernel`, a __global__ function.
[[nodiscard]] KernelResources kernel_resources(std::string name, const void* kernel,
                                               BlockSize block);

/// Multiprocessors of the current device.
[[nodiscard]] int multiprocessor_count();

}  // namespace eplb::gpu
