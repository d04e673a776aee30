// Goal: failures are told in full, a stream that is held cannot hang, a broken capture leaves
// nothing behind, and the harness gives plausible figures. Method: one small case each.
#include <stdexcept>
#include <string>
#include <utility>

#include "eplb/gpu/buffer.hpp"
#include "eplb/gpu/error.hpp"
#include "eplb/gpu/graph.hpp"
#include "eplb/gpu/stream.hpp"
#include "eplb/gpu/timing.hpp"
#include "kernel_cases.hpp"

namespace eplb::gpu::test {
namespace {

void tell_failed_calls(Checks& checks) {
  bool thrown = false;
  try {
    EPLB_CUDA(cudaSetDevice(12345));
  } catch (const CudaError& error) {
    thrown = true;
    const std::string what = error.what();
    checks.expect(error.code() == cudaErrorInvalidDevice, "the code of a failed call is kept");
    checks.expect(what.find("cudaSetDevice(12345)") != std::string::npos, "the call is told");
    checks.expect(what.find("cudaErrorInvalidDevice") != std::string::npos, "its code is told");
    checks.expect(what.find("ground_floor_test.cpp:") != std::string::npos, "its site is told");
  }
  checks.expect(thrown, "a failed call throws");
  static_cast<void>(cudaGetLastError());
}

void move_handles(Checks& checks) {
  DeviceBuffer<int> first(16);
  int* const data = first.data();
  const DeviceBuffer<int> second(std::move(first));
  checks.expect(second.data() == data && second.size() == 16, "a moved buffer keeps its memory");
}

void give_up_at_limit(Checks& checks) {
  const Stream stream;
  Gate gate(50'000'000);
  gate.close(stream.get());
  stream.synchronize();
  checks.expect(gate.gave_up(), "a gate that nobody opens gives up");
  gate.close(stream.get());
  gate.open();
  stream.synchronize();
  checks.expect(!gate.gave_up(), "a gate that is opened in time does not");
}

void drop_broken_capture(Checks& checks) {
  std::string told;
  try {
    static_cast<void>(Graph::capture([](cudaStream_t stream) {
      launch_nothing(stream);
      throw std::runtime_error("on purpose");
    }));
  } catch (const std::runtime_error& error) {
    told = error.what();
  }
  checks.expect(told == "on purpose", "what a capture threw is what comes out");
  const GraphExec exec(Graph::capture([](cudaStream_t stream) { launch_nothing(stream); }));
  const Stream stream;
  exec.launch(stream.get());
  stream.synchronize();
}

void time_nothing(Checks& checks) {
  const Timing timing = time_launches(launch_nothing);
  checks.expect(timing.median_us > 0.1 && timing.median_us < 50, "an empty launch takes 0.1-50 us");
  checks.expect(timing.min_us <= timing.median_us && timing.median_us <= timing.max_us,
                "the median lies between the extremes");
}

}  // namespace

void test_ground_floor(Checks& checks, const Setting& /*setting*/) {
  tell_failed_calls(checks);
  move_handles(checks);
  give_up_at_limit(checks);
  drop_broken_capture(checks);
  time_nothing(checks);
}

}  // namespace eplb::gpu::test
