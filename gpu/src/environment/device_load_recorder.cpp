#include "eplb/gpu/environment/device_load_recorder.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include "eplb/gpu/bounded_wait.hpp"
#include "eplb/gpu/memory/device_entry.hpp"

namespace eplb::gpu {
namespace {

PassRecorder passes_of(const LoadRecorderOptions& options, cudaStream_t forward) {
  const DeviceEntry entry(options.device);
  return {{.shape = options.shape, .counts_slots = options.counts_slots}, forward};
}

PassRecorder::Reading reading_of(env::PassUse use) {
  if (use.dummy || !(use.record || use.log)) {
    return PassRecorder::Reading::kNothing;
  }
  return use.log ? PassRecorder::Reading::kLogicalAndSlots : PassRecorder::Reading::kLogical;
}

}  // namespace

DeviceLoadRecorder::DeviceLoadRecorder(const LoadRecorderOptions& options, cudaStream_t forward)
    : options_(options), forward_(forward), passes_(passes_of(options, forward)) {
  const Shape& shape = options_.shape;
  for (env::RecordedPass* pass : {&logged_, &unlogged_}) {
    pass->logical = LoadMatrix::Zero(shape.layer_count, shape.expert_count);
  }
  logged_.physical = LoadMatrix::Zero(shape.layer_count, shape.slot_count());
  logged_.rank_loads = LoadMatrix::Zero(shape.layer_count, shape.rank_count);
}

void DeviceLoadRecorder::set_recording(bool recording) {
  const DeviceEntry entry(options_.device);
  passes_.set_recording(recording, forward_);
}

void DeviceLoadRecorder::close_pass(std::int64_t step, env::PassUse use) {
  if (use.log && !options_.counts_slots) {
    throw std::logic_error("a pass is to be logged whose slots were not counted");
  }
  const DeviceEntry entry(options_.device);
  const PassRecorder::Reading reading = reading_of(use);
  if (reading != PassRecorder::Reading::kNothing && !passes_.has_room()) {
    make_room();
  }
  passes_.end_pass(reading, forward_);
  if (use.record || use.log) {
    closed_.push_back({.step = step, .use = use});
  }
}

void DeviceLoadRecorder::make_room() {
  if (!passes_.landed()) {
    ++wait_count_;
    wait_for_device("counts have to wait for a pass that ended four passes ago",
                    [this] { return passes_.landed().has_value(); });
  }
  while (!passes_.has_room()) {
    aside_.push_back(*take_oldest());
  }
}

const env::RecordedPass* DeviceLoadRecorder::try_take() {
  if (aside_.empty()) {
    return take_oldest();
  }
  from_aside_ = std::move(aside_.front());
  aside_.pop_front();
  return &from_aside_;
}

const env::RecordedPass* DeviceLoadRecorder::take_oldest() {
  if (closed_.empty()) {
    return nullptr;
  }
  const ClosedPass closed = closed_.front();
  env::RecordedPass& pass = closed.use.log ? logged_ : unlogged_;
  if (closed.use.dummy) {
    pass.logical.setZero();
    pass.physical.setZero();
    pass.rank_loads.setZero();
  } else {
    const std::optional<PassRecorder::Counts> counts = passes_.landed();
    if (!counts) {
      return nullptr;
    }
    std::ranges::copy(counts->logical, pass.logical.data());
    std::ranges::copy(counts->slots, pass.physical.data());
    std::ranges::copy(counts->ranks, pass.rank_loads.data());
    passes_.take_off();
  }
  pass.step = closed.step;
  pass.use = closed.use;
  closed_.erase(closed_.begin());
  return &pass;
}

void DeviceLoadRecorder::check() {
  const DeviceEntry entry(options_.device);
  passes_.check();
}

}  // namespace eplb::gpu
