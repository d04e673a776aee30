#include "eplb/core/load_window.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "eplb/core/assert.hpp"

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
  const bool overwrites = filled_ == options_.step_count_max;
  if (overwrites && sum_.next < sum_.step_count &&
      next_ == (sum_.first_row + sum_.next) % options_.step_count_max) {
    add_next_step();
  }
  std::ranges::transform(cells, ring_.get() + next_ * static_cast<std::ptrdiff_t>(row_size_),
                         [](std::int64_t count) { return static_cast<std::int32_t>(count); });
  next_ = (next_ + 1) % options_.step_count_max;
  filled_ += filled_ < options_.step_count_max ? 1 : 0;
  return {};
}

const std::int32_t* LoadWindow::row_at(std::int64_t row) const {
  return ring_.get() + static_cast<std::size_t>(row % options_.step_count_max) * row_size_;
}

void LoadWindow::start_sum() {
  const auto parts = static_cast<std::size_t>(options_.part_count);
  const bool fades = options_.half_life_steps.has_value();
  const Eigen::Index rows = options_.layer_count;
  const Eigen::Index cols = options_.expert_count;
  sum_ = {
      .step_count = filled_,
      .next = 0,
      .first_row = filled_ < options_.step_count_max ? 0 : next_,
      .exact = std::vector<LoadMatrix>(fades ? 0 : parts, LoadMatrix::Zero(rows, cols)),
      .weighted = std::vector<RealLoadMatrix>(fades ? parts : 0, RealLoadMatrix::Zero(rows, cols))};
}

void LoadWindow::add_next_step() {
  using Counts = Eigen::Matrix<std::int32_t, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const std::int64_t step = sum_.next++;
  // The last part whose first step, floor(part n / parts), is not after `step`.
  const std::int64_t part =
      ((step + 1) * options_.part_count + sum_.step_count - 1) / sum_.step_count - 1;
  const Eigen::Map<const Counts> row(row_at(sum_.first_row + step), options_.layer_count,
                                     options_.expert_count);
  if (options_.half_life_steps.has_value()) {
    const auto age = static_cast<double>(sum_.step_count - 1 - step);
    sum_.weighted[static_cast<std::size_t>(part)] +=
        std::exp2(-age / *options_.half_life_steps) * row.cast<double>();
  } else {
    sum_.exact[static_cast<std::size_t>(part)] += row.cast<std::int64_t>();
  }
}

bool LoadWindow::advance_sum(std::int64_t cell_count) {
  const auto row_size = static_cast<std::int64_t>(std::max<std::size_t>(row_size_, 1));
  const std::int64_t steps = std::max<std::int64_t>(1, cell_count / row_size);
  for (std::int64_t step = 0; step < steps && sum_.next < sum_.step_count; ++step) {
    add_next_step();
  }
  return sum_.next == sum_.step_count;
}

std::vector<RealLoadMatrix> LoadWindow::take_sum() {
  EPLB_ASSERT_OP(sum_.next, ==, sum_.step_count);
  std::vector<RealLoadMatrix> parts = std::move(sum_.weighted);
  for (const LoadMatrix& part : sum_.exact) {
    parts.emplace_back(part.cast<double>());
  }
  sum_ = {};
  return parts;
}

std::vector<RealLoadMatrix> LoadWindow::parts() {
  start_sum();
  while (!advance_sum(std::numeric_limits<std::int64_t>::max())) {
  }
  return take_sum();
}

LoadMatrix LoadWindow::total() const {
  LoadMatrix sum = LoadMatrix::Zero(options_.layer_count, options_.expert_count);
  const std::int32_t oldest = filled_ < options_.step_count_max ? 0 : next_;
  for (std::int32_t step = 0; step < filled_; ++step) {
    const std::int32_t* row = row_at(std::int64_t{oldest} + step);
    for (std::size_t cell = 0; cell < row_size_; ++cell) {
      sum.data()[cell] += row[cell];
    }
  }
  return sum;
}

}  // namespace eplb
