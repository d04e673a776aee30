#include "eplb/gpu/transport/stream_queue.hpp"

#include <stdexcept>
#include <string>
#include <utility>

#include "eplb/gpu/memory/device_entry.hpp"
#include "gather_kernel.hpp"

namespace eplb::gpu {
namespace {

/// Marks that another queue may wait for. Of an older one it waits for the next in its place, which
/// lies behind it in the same stream.
constexpr std::size_t kEventsInRing = 64;

std::vector<Event> ring_of_events() {
  std::vector<Event> events(kEventsInRing);
  return events;
}

cudaStream_t checked(cudaStream_t stream) {
  if (stream == nullptr || stream == cudaStreamLegacy) {
    throw std::invalid_argument("a queue needs a stream of its own");
  }
  return stream;
}

}  // namespace

StreamQueue::StreamQueue(const DeviceMemory& memory, cudaStream_t stream,
                         const StreamQueueOptions& options)
    : memory_(memory),
      stream_(checked(stream)),
      options_(options),
      timeline_([&] {
        const DeviceEntry entry(options.device);
        return Timeline({stream});
      }()),
      events_([&] {
        const DeviceEntry entry(options.device);
        return ring_of_events();
      }()) {}

void StreamQueue::copy(std::span<const RowCopy> copies) {
  pieces_.clear();
  for (const RowCopy& copy : copies) {
    if (const Result<void> appended = memory_.rows().append_pieces(copy, pieces_); !appended) {
      fail_with(appended.error());
      return;
    }
  }
  const DeviceEntry entry(options_.device);
  const cudaError_t status = options_.local_copies == LocalCopies::kKernel
                                 ? gather(pieces_, stream_)
                                 : batch_.enqueue(pieces_, stream_);
  if (status != cudaSuccess) {
    fail_with({.code = ErrorCode::kDevice,
               .message = std::string("copies within the device: ") + cudaGetErrorName(status),
               .site = {__FILE__, __LINE__}});
  }
}

env::Ticket StreamQueue::signal() {
  const DeviceEntry entry(options_.device);
  const env::Ticket ticket = timeline_.next();
  timeline_.mark(ticket);
  if (cudaEventRecord(event_of(ticket).get(), stream_) != cudaSuccess) {
    timeline_.break_off();
  }
  return ticket;
}

void StreamQueue::wait(const env::Queue& other, env::Ticket ticket) {
  const auto* queue = dynamic_cast<const StreamQueue*>(&other);
  if (queue == nullptr) {
    throw std::invalid_argument("a stream can wait for a stream alone");
  }
  if (ticket.value <= 0 || ticket > queue->timeline_.newest()) {
    return;
  }
  if (queue->timeline_.will_fail(ticket)) {
    fail_with({.code = ErrorCode::kDevice,
               .message = "what this queue waits for has failed",
               .site = {__FILE__, __LINE__}});
    return;
  }
  if (queue->poll(ticket) == env::Completion::kDone) {
    return;
  }
  const DeviceEntry entry(options_.device);
  if (cudaStreamWaitEvent(stream_, queue->event_of(ticket).get(), 0) != cudaSuccess) {
    timeline_.break_off();
  }
}

env::Completion StreamQueue::poll(env::Ticket ticket) const {
  return timeline_.poll(ticket);
}

void StreamQueue::check() {
  const DeviceEntry entry(options_.device);
  timeline_.check();
}

void StreamQueue::fail_with(Error error) {
  timeline_.fail_from({timeline_.newest().value + 1});
  if (!failure_.has_value()) {
    failure_ = std::move(error);
  }
}

const Event& StreamQueue::event_of(env::Ticket ticket) const {
  return events_[static_cast<std::size_t>(ticket.value) % events_.size()];
}

}  // namespace eplb::gpu
