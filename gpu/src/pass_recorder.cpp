#include "eplb/gpu/pass_recorder.hpp"

#include "eplb/gpu/step.hpp"

namespace eplb::gpu {
namespace {

std::size_t product(std::int32_t left, std::int32_t right) {
  return static_cast<std::size_t>(left) * static_cast<std::size_t>(right);
}

void clear(const DeviceBuffer<std::int32_t>& buffer, cudaStream_t stream) {
  if (buffer.size() > 0) {
    buffer.fill_bytes(0, stream);
  }
}

void copy_to_host(const DeviceBuffer<std::int32_t>& from, const PinnedBuffer<std::int32_t>& to,
                  cudaStream_t stream) {
  if (from.size() > 0) {
    EPLB_CUDA(
        cudaMemcpyAsync(to.data(), from.data(), from.bytes(), cudaMemcpyDeviceToHost, stream));
  }
}

}  // namespace

PassRecorder::PassRecorder(const Options& options, cudaStream_t stream)
    : shape_(options.shape),
      gate_(1),
      pass_counts_(product(shape_.layer_count, shape_.expert_count)),
      snapshot_counts_(pass_counts_.size()),
      pass_slot_counts_(options.counts_slots ? product(shape_.layer_count, shape_.slot_count())
                                             : 0),
      rank_loads_(options.counts_slots ? product(shape_.layer_count, shape_.rank_count) : 0),
      host_counts_(snapshot_counts_.size()),
      host_rank_loads_(rank_loads_.size()) {
  clear(gate_, stream);
  clear(pass_counts_, stream);
  clear(pass_slot_counts_, stream);
}

std::int32_t* PassRecorder::logical_counts(LayerId layer) const {
  return pass_counts_.data() + layer.index() * static_cast<std::size_t>(shape_.expert_count);
}

std::int32_t* PassRecorder::slot_counts(LayerId layer) const {
  if (pass_slot_counts_.size() == 0) {
    return nullptr;
  }
  return pass_slot_counts_.data() + layer.index() * static_cast<std::size_t>(shape_.slot_count());
}

void PassRecorder::set_recording(bool is_recording, cudaStream_t stream) {
  if (is_recording != is_recording_) {
    // Any value but 0 is open, so one byte value does.
    gate_.fill_bytes(is_recording ? 1 : 0, stream);
    is_recording_ = is_recording;
  }
}

void PassRecorder::end_pass(Ending ending, cudaStream_t stream) {
  const bool is_wanted = ending == Ending::kRead;
  if (is_wanted) {
    read_.block(stream);  // The snapshot of the pass before must have left.
  }
  finish_pass({.layer_count = shape_.layer_count,
               .expert_count = shape_.expert_count,
               .pass_counts = pass_counts_.data(),
               .snapshot_counts = is_wanted ? snapshot_counts_.data() : nullptr,
               .rank_count = shape_.rank_count,
               .slots_per_rank = shape_.slots_per_rank(),
               .pass_slot_counts = pass_slot_counts_.data(),
               .rank_loads = is_wanted ? rank_loads_.data() : nullptr},
              stream);
  if (is_wanted) {
    handed_over_.record(stream);
    read_back();
  }
}

void PassRecorder::read_back() const {
  handed_over_.block(side_.get());
  copy_to_host(snapshot_counts_, host_counts_, side_.get());
  copy_to_host(rank_loads_, host_rank_loads_, side_.get());
  read_.record(side_.get());
}

}  // namespace eplb::gpu
