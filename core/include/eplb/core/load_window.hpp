#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

#include "eplb/core/load.hpp"
#include "eplb/core/result.hpp"

namespace eplb {

/// The load of the last `step_count_max` recorded steps, by logical expert, so that a change of
/// placement never invalidates it (eplb-semantics 3.4). An exact ring: int32 rows, 64-bit sums.
class LoadWindow {
 public:
  struct Options {
    std::int32_t layer_count = 0;
    std::int32_t expert_count = 0;
    std::int32_t step_count_max = 1000;  ///< vLLM's window_size.
    std::int32_t part_count = 4;         ///< Sums read out, over equal shares of the steps.
    /// Age at which a step counts half; none: all steps count alike, as the reference has it.
    std::optional<double> half_life_steps = std::nullopt;
  };

  /// kInvalidArgument unless counts are positive (layers may be 0) and parts do not exceed steps;
  /// kResourceExhausted if the ring is over 64 GB or there is no memory for it.
  [[nodiscard]] static Result<LoadWindow> create(const Options& options);

  /// Appends one step's counts, [layers, experts], each in [0, 2^31); forgets the oldest when full.
  /// kInvalidArgument on another size or a count out of range; the window is then unchanged. While
  /// a sum is under way, a step that it has not reached is added to it before it is forgotten.
  [[nodiscard]] Result<void> record(const LoadMatrix& counts);

  [[nodiscard]] std::int32_t recorded_step_count() const { return filled_; }

  /// Starts to sum what is recorded now into `part_count` parts, oldest first: of n steps, part i
  /// covers [i n / parts, (i + 1) n / parts). A sum under way is dropped.
  void start_sum();

  /// Sums on for about `cell_count` counts, at least one step. True once the sum is complete.
  [[nodiscard]] bool advance_sum(std::int64_t cell_count);

  /// The complete sum: `part_count` matrices, all zero where nothing was recorded.
  [[nodiscard]] std::vector<RealLoadMatrix> take_sum();

  /// All of it at once.
  [[nodiscard]] std::vector<RealLoadMatrix> parts();

  /// Sum over the whole window, exact (decay does not apply).
  [[nodiscard]] LoadMatrix total() const;

  [[nodiscard]] const Options& options() const { return options_; }

  [[nodiscard]] std::int64_t memory_bytes() const {
    return static_cast<std::int64_t>(ring_size_ * sizeof(std::int32_t));
  }

 private:
  struct FreeMemory {
    void operator()(std::int32_t* memory) const { std::free(memory); }
  };

  explicit LoadWindow(const Options& options);

  /// A sum over the steps [0, step_count), counted from the oldest at its start.
  struct Sum {
    std::int32_t step_count = 0;
    std::int32_t next = 0;                 ///< First step that is not in it.
    std::int32_t first_row = 0;            ///< Ring row of step 0.
    std::vector<LoadMatrix> exact;         ///< Where all steps count alike.
    std::vector<RealLoadMatrix> weighted;  ///< Where they fade.
  };

  [[nodiscard]] const std::int32_t* row_at(std::int64_t row) const;
  void add_next_step();

  Options options_;
  std::size_t row_size_;
  std::size_t ring_size_;
  std::unique_ptr<std::int32_t, FreeMemory> ring_;  ///< [steps, layers, experts].
  std::int32_t next_ = 0;
  std::int32_t filled_ = 0;
  Sum sum_;
};

}  // namespace eplb
