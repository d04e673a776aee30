// Goal: ranks that serve on a real device rearrange again and again, and after each rearrangement
// every byte of every slot, every map and every count is as it should be; and none of that makes a
// step wait, or is disturbed by, or disturbs, a stream capture elsewhere in the process. Method:
// four ranks as threads on one device, each with a balancer, a thread of its own and drawn picks;
// digests of all rows, maps and counts against what placement and references say.
#include <cuda_runtime_api.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#include "environment_cases.hpp"
#include "eplb/gpu/stream.hpp"
#include "eplb/gpu/timing.hpp"
#include "eplb/gpu/transport/host_staged_transport.hpp"
#include "served_rank.hpp"

namespace eplb::gpu::test {
namespace {

/// Captures graphs in global mode, one after the other, for as long as it lives: no thread of the
/// process may then make a call that CUDA calls unsafe, unless it says that it knows.
class Capturing {
 public:
  Capturing() {
    load_kernel();
    thread_ = std::thread([this] { run(); });
  }

  ~Capturing() { stop(); }

  Capturing(const Capturing&) = delete;
  Capturing& operator=(const Capturing&) = delete;
  Capturing(Capturing&&) = delete;
  Capturing& operator=(Capturing&&) = delete;

  void stop() {
    stopping_ = true;
    if (thread_.joinable()) {
      thread_.join();
    }
  }

  [[nodiscard]] std::int64_t capture_count() const { return capture_count_; }

  /// What the first capture that failed ended with.
  [[nodiscard]] cudaError_t failure() const { return failure_; }

 private:
  /// To load a kernel is one of the unsafe calls.
  static void load_kernel() {
    const Stream stream;
    launch_nothing(stream.get());
    stream.synchronize();
  }

  void run() {
    const Stream stream;
    do {
      failure_ = capture(stream.get());
      ++capture_count_;
    } while (!stopping_ && failure_ == cudaSuccess);
  }

  static cudaError_t capture(cudaStream_t stream) {
    constexpr int kLaunches = 10;
    constexpr std::chrono::microseconds kBetween{100};
    const cudaError_t begun = cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    if (begun != cudaSuccess) {
      return begun;
    }
    for (int launch = 0; launch < kLaunches; ++launch) {
      launch_nothing(stream);
      std::this_thread::sleep_for(kBetween);
    }
    cudaGraph_t graph = nullptr;
    const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
    if (ended != cudaSuccess) {
      return ended;
    }
    std::size_t node_count = 0;
    const cudaError_t counted = cudaGraphGetNodes(graph, nullptr, &node_count);
    static_cast<void>(cudaGraphDestroy(graph));
    return counted == cudaSuccess && node_count != kLaunches ? cudaErrorUnknown : counted;
  }

  std::atomic<bool> stopping_ = false;
  std::atomic<std::int64_t> capture_count_ = 0;
  std::atomic<cudaError_t> failure_ = cudaSuccess;
  std::thread thread_;
};

}  // namespace

std::size_t staging_bytes() {
  return static_cast<std::size_t>(
      HostStagedTransport::shared_bytes({.rank_count = ServedRank::kRanks}));
}

void test_rearrangements(Checks& checks, const RankSetting& setting) {
  ServedRank rank(checks, setting, {});
  rank.serve(200);
  rank.judge();
}

void test_held(Checks& checks, const RankSetting& setting) {
  ServedRank rank(checks, setting, {.use_async = false, .has_engine = true, .seed = 2});
  rank.serve(100);
  rank.judge();
}

void test_host_staged(Checks& checks, const RankSetting& setting) {
  ServedRank rank(checks, setting, {.communicator = Communicator::kTorchGloo, .seed = 3});
  rank.serve(30);
  rank.judge();
}

void test_sleep(Checks& checks, const RankSetting& setting) {
  ServedRank rank(checks, setting, {.seed = 4});
  for (int nap = 0; nap < 3; ++nap) {
    rank.serve(5);
    rank.sleep_and_wake();
  }
  rank.serve(5);
  rank.judge();
}

void test_capture(Checks& checks, const RankSetting& setting) {
  ServedRank rank(checks, setting, {.seed = 5});
  rank.serve(3);  // What is launched later was launched once, so that no kernel is left to load.
  std::unique_ptr<Capturing> capturing;
  if (setting.group.rank.value == 0) {
    capturing = std::make_unique<Capturing>();
  }
  rank.serve(50);
  if (capturing != nullptr) {
    capturing->stop();
    checks.expect(capturing->failure() == cudaSuccess,
                  std::string("a capture in global mode ended with ") +
                      cudaGetErrorName(capturing->failure()));
    std::printf("  %lld captures in global mode\n",
                static_cast<long long>(capturing->capture_count()));
  }
  barrier(setting.group);
  rank.judge();
}

}  // namespace eplb::gpu::test
