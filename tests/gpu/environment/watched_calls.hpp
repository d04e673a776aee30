#pragma once

#include <cstdint>
#include <string>

namespace eplb::gpu::test {

/// While it lives, its thread is on the step path: calls of the CUDA runtime that wait for a device
/// or allocate memory are counted. The program is linked so that every call made by our code, of
/// whatever library, goes through the counter; see the --wrap options.
class OnStepPath {
 public:
  OnStepPath();
  ~OnStepPath();
  OnStepPath(const OnStepPath&) = delete;
  OnStepPath& operator=(const OnStepPath&) = delete;
  OnStepPath(OnStepPath&&) = delete;
  OnStepPath& operator=(OnStepPath&&) = delete;
};

/// All threads' calls on the step path so far.
[[nodiscard]] std::int64_t watched_call_count();

/// The name of the first of them; empty if there was none.
[[nodiscard]] std::string first_watched_call();

}  // namespace eplb::gpu::test
