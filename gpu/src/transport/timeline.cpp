#include "eplb/gpu/transport/timeline.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

#include "eplb/gpu/buffer.hpp"
#include "eplb/gpu/memory/driver_api.hpp"
#include "eplb/gpu/stream.hpp"
#include "word_kernel.hpp"

namespace eplb::gpu {
namespace {

/// A word a cache line, so that streams do not write the same one.
struct alignas(64) Word {
  std::uint64_t value = 0;
};

}  // namespace

struct Timeline::State {
  explicit State(std::vector<cudaStream_t> on_streams)
      : streams(std::move(on_streams)), words(streams.size()) {}

  /// Whether the stream took it.
  [[nodiscard]] bool write(std::size_t stream, std::uint64_t value) const {
    std::uint64_t* word = &words.data()[stream].value;
    if (write_value != nullptr) {
      const auto address = reinterpret_cast<CUdeviceptr>(word);
      return write_value(streams[stream], address, value, CU_STREAM_WRITE_VALUE_DEFAULT) ==
             CUDA_SUCCESS;
    }
    return write_word_by_kernel(word, value, streams[stream]) == cudaSuccess;
  }

  [[nodiscard]] std::int64_t passed() const {
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    for (Word& word : words.span()) {
      least = std::min(least, std::atomic_ref(word.value).load(std::memory_order_acquire));
    }
    return static_cast<std::int64_t>(least);
  }

  [[nodiscard]] bool is_failing(std::int64_t ticket) const {
    return ticket >= failed_from || std::ranges::count(failed, ticket) > 0;
  }

  std::vector<cudaStream_t> streams;
  PinnedBuffer<Word> words;
  PFN_cuStreamWriteValue64_v11070 write_value = nullptr;
  std::int64_t newest = 0;
  std::vector<std::int64_t> failed;
  std::int64_t failed_from = std::numeric_limits<std::int64_t>::max();
  bool is_broken = false;
};

Timeline::Timeline(std::vector<cudaStream_t> streams)
    : state_(std::make_unique<State>(std::move(streams))) {
  const Result<DriverApi> driver = DriverApi::load();
  if (!driver || state_->streams.empty()) {
    return;
  }
  // A write of what stands there already shows whether the driver takes such writes at all.
  state_->write_value = driver->stream_write_value_64;
  if (!state_->write(0, 0)) {
    state_->write_value = nullptr;
  }
}

Timeline::~Timeline() = default;
Timeline::Timeline(Timeline&&) noexcept = default;
Timeline& Timeline::operator=(Timeline&&) noexcept = default;

env::Ticket Timeline::next() {
  return {++state_->newest};
}

void Timeline::mark(env::Ticket ticket) {
  for (std::size_t stream = 0; stream < state_->streams.size(); ++stream) {
    if (!state_->write(stream, static_cast<std::uint64_t>(ticket.value))) {
      break_off();
    }
  }
}

env::Ticket Timeline::newest() const {
  return {state_->newest};
}

bool Timeline::will_fail(env::Ticket ticket) const {
  return ticket.value <= state_->newest && ticket.value > 0 &&
         (state_->is_failing(ticket.value) || poll(ticket) == env::Completion::kFailed);
}

void Timeline::fail(env::Ticket ticket) {
  state_->failed.push_back(ticket.value);
}

void Timeline::fail_from(env::Ticket ticket) {
  state_->failed_from = std::min(state_->failed_from, ticket.value);
}

void Timeline::fail_pending() {
  for (std::int64_t ticket = state_->passed() + 1; ticket <= state_->newest; ++ticket) {
    state_->failed.push_back(ticket);
  }
}

void Timeline::break_off() {
  state_->is_broken = true;
}

env::Completion Timeline::poll(env::Ticket ticket) const {
  if (ticket.value > state_->newest) {
    return env::Completion::kPending;
  }
  if (state_->passed() >= ticket.value) {
    return state_->is_failing(ticket.value) ? env::Completion::kFailed : env::Completion::kDone;
  }
  return state_->is_broken ? env::Completion::kFailed : env::Completion::kPending;
}

void Timeline::check() {
  for (cudaStream_t stream : state_->streams) {
    const cudaError_t status = cudaStreamQuery(stream);
    if (status != cudaSuccess && status != cudaErrorNotReady) {
      break_off();
    }
  }
}

}  // namespace eplb::gpu
