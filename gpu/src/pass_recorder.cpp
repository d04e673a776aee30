#include "eplb/gpu/pass_recorder.hpp"

#include <stdexcept>

#include "eplb/gpu/step.hpp"

namespace eplb::gpu {
namespace {

std::size_t product(std::int32_t left, std::int32_t right) {
  return static_cast<std::size_t>(left) * static_cast<std::size_t>(right);
}

}  // namespace

PassRecorder::PassRecorder(const Options& options, cudaStream_t stream)
    : shape_(options.shape),
      logical_size_(product(shape_.layer_count, shape_.expert_count)),
      stripe_size_((logical_size_ + 3) / 4 * 4),
      slots_size_(options.counts_slots ? product(shape_.layer_count, shape_.slot_count()) : 0),
      ranks_size_(options.counts_slots ? product(shape_.layer_count, shape_.rank_count) : 0),
      gate_(1),
      pass_counts_(kStripes * stripe_size_ + slots_size_),
      timeline_({side_.get()}) {
  read_backs_.reserve(kReadBacksMax);
  for (std::size_t index = 0; index < kReadBacksMax; ++index) {
    read_backs_.emplace_back(stripe_size_ + slots_size_ + ranks_size_);
  }
  gate_.fill_bytes(0, stream);
  if (pass_counts_.size() > 0) {
    pass_counts_.fill_bytes(0, stream);
  }
}

std::int32_t* PassRecorder::logical_counts(LayerId layer) const {
  return pass_counts_.data() + layer.index() * static_cast<std::size_t>(shape_.expert_count);
}

std::int32_t* PassRecorder::slot_counts(LayerId layer) const {
  if (slots_size_ == 0) {
    return nullptr;
  }
  return pass_counts_.data() + kStripes * stripe_size_ +
         layer.index() * static_cast<std::size_t>(shape_.slot_count());
}

void PassRecorder::set_recording(bool is_recording, cudaStream_t stream) {
  if (is_recording != is_recording_) {
    // Any value but 0 is open, so one byte value does.
    gate_.fill_bytes(is_recording ? 1 : 0, stream);
    is_recording_ = is_recording;
    may_hold_counts_ = may_hold_counts_ || is_recording;
  }
}

void PassRecorder::end_pass(Reading reading, cudaStream_t stream) {
  const bool is_read = reading != Reading::kNothing;
  if (is_read && !has_room()) {
    throw std::logic_error("counts of earlier passes must be taken off first");
  }
  if (is_read || may_hold_counts_) {
    const ReadBack& next = read_backs_[(oldest_ + under_way_) % kReadBacksMax];
    StepArguments step{.counter_count = static_cast<std::int32_t>(stripe_size_ + slots_size_),
                       .stripe_count = kStripes,
                       .striped_count = stripe_stride(),
                       .pass_counts = pass_counts_.data(),
                       .snapshot_counts = is_read ? next.snapshot.data() : nullptr};
    if (reading == Reading::kLogicalAndSlots && ranks_size_ > 0) {
      step.rank_sum_count = static_cast<std::int32_t>(ranks_size_);
      step.slots_per_rank = shape_.slots_per_rank();
      step.rank_sums = next.snapshot.data() + stripe_size_ + slots_size_;
    }
    finish_pass(step, stream);
    may_hold_counts_ = is_recording_;
  }
  if (is_read) {
    read_back(reading, stream);
  }
}

void PassRecorder::read_back(Reading reading, cudaStream_t stream) {
  ReadBack& next = read_backs_[(oldest_ + under_way_) % kReadBacksMax];
  next.has_slots = reading == Reading::kLogicalAndSlots;
  handed_over_.record(stream);
  handed_over_.block(side_.get());
  const std::size_t size =
      next.has_slots ? stripe_size_ + slots_size_ + ranks_size_ : logical_size_;
  if (size > 0) {
    EPLB_CUDA(cudaMemcpyAsync(next.host.data(), next.snapshot.data(), size * sizeof(std::int32_t),
                              cudaMemcpyDeviceToHost, side_.get()));
  }
  next.ticket = timeline_.next();
  timeline_.mark(next.ticket);
  ++under_way_;
}

std::optional<PassRecorder::Counts> PassRecorder::landed() const {
  if (under_way_ == 0) {
    return std::nullopt;
  }
  const ReadBack& oldest = read_backs_[oldest_];
  const env::Completion completion = timeline_.poll(oldest.ticket);
  if (completion == env::Completion::kFailed) {
    check_cuda(cudaErrorUnknown, "read-back of a pass's counts", {__FILE__, __LINE__});
  }
  if (completion != env::Completion::kDone) {
    return std::nullopt;
  }
  const std::span<const std::int32_t> counts = oldest.host.span();
  return Counts{
      .logical = counts.first(logical_size_),
      .slots = counts.subspan(stripe_size_, oldest.has_slots ? slots_size_ : 0),
      .ranks = counts.subspan(stripe_size_ + slots_size_, oldest.has_slots ? ranks_size_ : 0)};
}

void PassRecorder::take_off() {
  if (!landed()) {
    throw std::logic_error("no counts have landed");
  }
  oldest_ = (oldest_ + 1) % kReadBacksMax;
  --under_way_;
}

}  // namespace eplb::gpu
