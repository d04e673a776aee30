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
  /// kInvalidArgument on another size or a count out of range; the window is then unchanged.
  [[nodiscard]] Result<void> record(const LoadMatrix& counts);

  [[nodiscard]] std::int32_t recorded_step_count() const { return filled_; }

  /// `part_count` sums, oldest first. Part i of n recorded steps covers the steps
  /// [i n / parts, (i + 1) n / parts); all zero before anything is recorded.
  [[nodiscard]] std::vector<RealLoadMatrix> parts() const;

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

  [[nodiscard]] const std::int32_t* step_row(std::int32_t age_from_oldest) const;

  Options options_;
  std::size_t row_size_;
  std::size_t ring_size_;
  std::unique_ptr<std::int32_t, FreeMemory> ring_;  ///< [steps, layers, experts].
  std::int32_t next_ = 0;
  std::int32_t filled_ = 0;
};

}  // namespace eplb
