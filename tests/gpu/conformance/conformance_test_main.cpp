// Goal: ranks on a GPU keep what the core promises of any environment. Method: the conformance
// cases, with four ranks as threads that share a device.
//
// eplb_gpu_conformance_test [doctest's options, such as --test-case="async*"]
// Ends with 0 (all right), 1 (a case failed), 77 (no device), or by its alarm if out of time.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>

#include "eplb/gpu/device_count.hpp"

int main(int argc, char** argv) {
  constexpr int kSkipped = 77;
  constexpr unsigned kProgramLimitS = 560;
  if (eplb::gpu::device_count() == 0) {
    std::printf("no device: all cases are skipped\n");
    return kSkipped;
  }
  alarm(kProgramLimitS);
  doctest::Context context(argc, argv);
  return context.run();
}
