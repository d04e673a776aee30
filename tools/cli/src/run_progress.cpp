#include "run_progress.hpp"

#include <fmt/core.h>

namespace eplb::cli {

void RunProgress::show(std::string_view name, std::int64_t steps_done, std::int64_t step_total) {
  constexpr double kShowEveryS = 0.1;
  const double elapsed_s = seconds_since(begin_);
  if (elapsed_s - shown_s_ < kShowEveryS) {
    return;
  }
  shown_s_ = elapsed_s;
  const double share = static_cast<double>(steps_done) / static_cast<double>(step_total);
  line_.show(
      fmt::format("{}: {:.0f} %, {:.0f} s left", name, 100 * share, elapsed_s * (1 / share - 1)));
}

double seconds_since(RunProgress::Clock::time_point begin) {
  return std::chrono::duration<double>(RunProgress::Clock::now() - begin).count();
}

}  // namespace eplb::cli
