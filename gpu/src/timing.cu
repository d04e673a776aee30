#include <algorithm>
#include <stdexcept>
#include <vector>

#include "eplb/gpu/device/bounded_wait.cuh"
#include "eplb/gpu/graph.hpp"
#include "eplb/gpu/stream.hpp"
#include "eplb/gpu/timing.hpp"

namespace eplb::gpu {
namespace {

/// One thread waits; the flag lies in the host's memory.
__global__ void wait_kernel(const volatile std::int32_t* is_open, std::int32_t* gave_up,
                            std::int64_t limit_ns) {
  const std::int64_t begin_ns = device::now_ns();
  while (*is_open == 0) {
    if (device::now_ns() - begin_ns > limit_ns) {
      *gave_up = 1;
      return;
    }
    __nanosleep(200);
  }
}

__global__ void empty_kernel() {}

double median(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

Gate::Gate(std::int64_t limit_ns) : state_(1), limit_ns_(limit_ns) {}

void Gate::close(cudaStream_t stream) {
  State* state = state_.data();
  *state = {.is_open = 0, .gave_up = 0};
  wait_kernel<<<1, 1, 0, stream>>>(&state->is_open, &state->gave_up, limit_ns_);
  EPLB_CUDA(cudaGetLastError());
}

void Gate::open() {
  *static_cast<volatile std::int32_t*>(&state_.data()->is_open) = 1;
}

bool Gate::gave_up() const {
  return *static_cast<volatile std::int32_t*>(&state_.data()->gave_up) != 0;
}

Timing time_launches(const std::function<void(cudaStream_t)>& enqueue,
                     const TimingOptions& options) {
  const GraphExec replay(Graph::capture([&](cudaStream_t stream) {
    for (int launch = 0; launch < options.launches_per_sample; ++launch) {
      enqueue(stream);
    }
  }));
  const Stream stream;
  const Event begin(Event::Timing::kOn);
  const Event end(Event::Timing::kOn);
  Gate gate;

  // Once with the gate open, so that every kernel is loaded before one of them waits.
  gate.close(stream.get());
  gate.open();
  for (int warmup = 0; warmup < std::max(1, options.warmup_count); ++warmup) {
    replay.launch(stream.get());
  }
  stream.synchronize();

  std::vector<double> samples_us;
  for (int sample = 0; sample < options.sample_count; ++sample) {
    gate.close(stream.get());
    begin.record(stream.get());
    replay.launch(stream.get());
    end.record(stream.get());
    gate.open();
    stream.synchronize();
    if (gate.gave_up()) {
      throw std::runtime_error("the timing gate gave up before it was opened");
    }
    samples_us.push_back(elapsed_us(begin, end) / options.launches_per_sample);
  }
  const double median_us = median(samples_us);
  return {.median_us = median_us,
          .min_us = samples_us.front(),
          .max_us = samples_us.back(),
          .sample_count = options.sample_count};
}

void launch_nothing(cudaStream_t stream) {
  empty_kernel<<<1, 32, 0, stream>>>();
  EPLB_CUDA(cudaGetLastError());
}

}  // namespace eplb::gpu
