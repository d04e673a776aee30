#include "eplb/core/load_window.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <span>
#include <string>

namespace eplb {
namespace {

/// Two hundred times what 92 layers of 896 experts take at the usual 1000 steps.
constexpr double kLargestRingBytes = 64e9;

}  // namespace

Result<LoadWindow> LoadWindow::create(const Options& options) {
  const auto invalid = [](std::string message) {
    return fail(ErrorCode::kInvalidArgument, std::move(message));
  };
  if (options.layer_count < 0 || options.expert_count < 1) {
    return invalid("a load window needs experts and no negative layer count");
  }
  if (options.step_count_max < 1) {
    return invalid("window size must be at least 1, got " + std::to_string(options.step_count_max));
  }
  if (options.part_count < 1 || options.part_count > options.step_count_max) {
    return invalid("window parts must be in [1, " + std::to_string(options.step_count_max) +
                   "], got " + std::to_string(options.part_count));
  }
  if (options.half_life_steps.has_value() &&
      !(std::isfinite(*options.half_life_steps) && *options.half_life_steps > 0)) {
    return invalid("half life must be a positive number of steps");
  }
  const double ring_bytes = 4.0 * options.layer_count * static_cast<double>(options.expert_count) *
                            options.step_count_max;
  if (ring_bytes > kLargestRingBytes) {
    return fail(ErrorCode::kResourceExhausted, "a load window of " +
                                                   std::to_string(ring_bytes / 1e9) +
                                                   " GB is too large; use a smaller window size");
  }
  LoadWindow window(options);
  if (window.ring_ == nullptr) {
    return fail(ErrorCode::kResourceExhausted,
                "no memory for a load window of " + std::to_string(ring_bytes / 1e9) + " GB");
  }
  return window;
}

// A step's pages are touched when it is recorded, so a large window costs only what it has seen.
LoadWindow::LoadWindow(const Options& options)
    : options_(options),
      row_size_(static_cast<std::size_t>(options.layer_count) *
                static_cast<std::size_t>(options.expert_count)),
      ring_size_(row_size_ * static_cast<std::size_t>(options.step_count_max)),
      ring_(static_cast<std::int32_t*>(
          std::calloc(std::max<std::size_t>(ring_size_, 1), sizeof(std::int32_t)))) {}

Result<void> LoadWindow::record(const LoadMatrix& counts) {
  if (counts.rows() != options_.layer_count || counts.cols() != options_.expert_count) {
    return fail(ErrorCode::kInvalidArgument, "a step's load has another size than the window");
  }
  const std::span<const std::int64_t> cells(counts.data(), row_size_);
  // A sign bit, or any bit from 31 upwards, survives the OR; so one pass without branches suffices.
  std::int64_t bits = 0;
  for (const std::int64_t count : cells) {
    bits |= count;
  }
  if (bits < 0 || bits > std::numeric_limits<std::int32_t>::max()) {
    return fail(ErrorCode::kInvalidArgument, "a step's count is outside [0, 2^31)");
  }
  std::ranges::transform(cells, ring_.get() + next_ * static_cast<std::ptrdiff_t>(row_size_),
                         [](std::int64_t count) { return static_cast<std::int32_t>(count); });
  next_ = (next_ + 1) % options_.step_count_max;
  filled_ += filled_ < options_.step_count_max ? 1 : 0;
  return {};
}

const std::int32_t* LoadWindow::step_row(std::int32_t age_from_oldest) const {
  const std::int32_t oldest = filled_ < options_.step_count_max ? 0 : next_;
  const std::int64_t row =
      (std::int64_t{oldest} + age_from_oldest) % std::int64_t{options_.step_count_max};
  return ring_.get() + static_cast<std::size_t>(row) * row_size_;
}

std::vector<RealLoadMatrix> LoadWindow::parts() const {
  using Counts = Eigen::Matrix<std::int32_t, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using Row = Eigen::Map<const Counts>;
  std::vector<RealLoadMatrix> parts;
  parts.reserve(static_cast<std::size_t>(options_.part_count));
  for (std::int64_t part = 0; part < options_.part_count; ++part) {
    const auto begin = static_cast<std::int32_t>(part * filled_ / options_.part_count);
    const auto end = static_cast<std::int32_t>((part + 1) * filled_ / options_.part_count);
    RealLoadMatrix weighted = RealLoadMatrix::Zero(options_.layer_count, options_.expert_count);
    LoadMatrix exact = LoadMatrix::Zero(options_.layer_count, options_.expert_count);
    for (std::int32_t step = begin; step < end; ++step) {
      const Row row(step_row(step), options_.layer_count, options_.expert_count);
      if (options_.half_life_steps.has_value()) {
        const double age = filled_ - 1 - step;
        weighted += std::exp2(-age / *options_.half_life_steps) * row.cast<double>();
      } else {
        exact += row.cast<std::int64_t>();
      }
    }
    parts.push_back(options_.half_life_steps.has_value() ? weighted : exact.cast<double>().eval());
  }
  return parts;
}

LoadMatrix LoadWindow::total() const {
  LoadMatrix sum = LoadMatrix::Zero(options_.layer_count, options_.expert_count);
  for (std::int32_t step = 0; step < filled_; ++step) {
    const std::int32_t* row = step_row(step);
    for (std::size_t cell = 0; cell < row_size_; ++cell) {
      sum.data()[cell] += row[cell];
    }
  }
  return sum;
}

}  // namespace eplb
