#include "eplb/sim/program/sm_pool.hpp"

#include <algorithm>

#include "eplb/core/assert.hpp"

namespace eplb::sim {

SmPool::SmPool(const ProcessorOptions& processor)
    : limit_{.ctas = processor.ctas_per_sm,
             .threads = processor.threads_per_sm,
             .registers = processor.registers_per_sm,
             .shared_memory_kb = processor.shared_memory_per_sm_kb},
      sms_(static_cast<std::size_t>(processor.sm_count)) {}

std::int32_t SmPool::room_on(const Used& used, const CtaDemand& demand) const {
  std::int32_t room = limit_.ctas - used.ctas;
  const auto bound = [&room](std::int32_t left, std::int32_t each) {
    room = each > 0 ? std::min(room, left / each) : room;
  };
  bound(limit_.threads - used.threads, demand.threads);
  bound(limit_.registers - used.registers, demand.registers);
  bound(limit_.shared_memory_kb - used.shared_memory_kb, demand.shared_memory_kb);
  return room;
}

void SmPool::change(Used& used, const CtaDemand& demand, std::int32_t ctas) {
  used.ctas += ctas;
  used.threads += ctas * demand.threads;
  used.registers += ctas * demand.registers;
  used.shared_memory_kb += ctas * demand.shared_memory_kb;
}

std::int64_t SmPool::room(const CtaDemand& demand) const {
  std::int64_t sum = 0;
  for (const Used& used : sms_) {
    sum += room_on(used, demand);
  }
  return sum;
}

std::vector<CtaPlacement> SmPool::place(const CtaDemand& demand, std::int32_t ctas) {
  std::vector<CtaPlacement> placements;
  std::vector<std::int32_t> placed(sms_.size(), 0);
  for (std::int32_t left = ctas; left > 0; --left) {
    Used* best = nullptr;
    for (Used& used : sms_) {
      const bool emptier = best == nullptr || used.ctas < best->ctas;
      if (emptier && room_on(used, demand) > 0) {
        best = &used;
      }
    }
    if (best == nullptr) {
      break;
    }
    change(*best, demand, 1);
    ++placed[static_cast<std::size_t>(best - sms_.data())];
  }
  for (std::size_t sm = 0; sm < placed.size(); ++sm) {
    if (placed[sm] > 0) {
      placements.push_back({.sm = static_cast<std::int32_t>(sm), .ctas = placed[sm]});
    }
  }
  return placements;
}

void SmPool::remove(const CtaDemand& demand, const std::vector<CtaPlacement>& placements) {
  for (const CtaPlacement& placement : placements) {
    Used& used = sms_[static_cast<std::size_t>(placement.sm)];
    change(used, demand, -placement.ctas);
    EPLB_ASSERT_OP(used.ctas, >=, 0);
  }
}

}  // namespace eplb::sim
