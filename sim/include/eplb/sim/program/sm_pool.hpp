#pragma once

#include <cstdint>
#include <vector>

#include "eplb/sim/program/program.hpp"

namespace eplb::sim {

/// What one CTA needs of an SM.
struct CtaDemand {
  std::int32_t threads = 0;
  std::int32_t registers = 0;
  std::int32_t shared_memory_kb = 0;
};

/// CTAs of one kernel on one SM.
struct CtaPlacement {
  std::int32_t sm = 0;
  std::int32_t ctas = 0;
};

/// The SMs of one GPU as budgets of threads, registers, shared memory and CTA slots. CTAs are never
/// taken off again before they end.
class SmPool {
 public:
  explicit SmPool(const ProcessorOptions& processor);

  /// CTAs that could be placed now.
  [[nodiscard]] std::int64_t room(const CtaDemand& demand) const;

  /// Places up to `ctas`, each on the SM with the fewest CTAs that has room, the lowest of equals.
  std::vector<CtaPlacement> place(const CtaDemand& demand, std::int32_t ctas);

  void remove(const CtaDemand& demand, const std::vector<CtaPlacement>& placements);

 private:
  struct Used {
    std::int32_t ctas = 0;
    std::int32_t threads = 0;
    std::int32_t registers = 0;
    std::int32_t shared_memory_kb = 0;
  };

  [[nodiscard]] std::int32_t room_on(const Used& used, const CtaDemand& demand) const;
  static void change(Used& used, const CtaDemand& demand, std::int32_t ctas);

  Used limit_;
  std::vector<Used> sms_;
};

}  // namespace eplb::sim
