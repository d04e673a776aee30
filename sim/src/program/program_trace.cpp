#include "program_trace.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "wait_graph.hpp"

namespace eplb::sim {
namespace {

constexpr std::int64_t kNotStarted = -1;

/// How much longer than the run its end is drawn: a quarter, and enough to be seen.
std::int64_t drawn_end_ns(std::int64_t end_ns) {
  constexpr std::int64_t kLeastNs = 10'000;
  return end_ns + std::max(end_ns / 4, kLeastNs);
}

}  // namespace

TrackId ProgramTrace::track(std::int32_t rank, const std::string& name) {
  return timeline_.track(rank, fmt::format("rank {}", rank), name);
}

void ProgramTrace::started(std::int32_t op, std::int64_t now_ns) {
  const auto index = static_cast<std::size_t>(op);
  begin_ns_.resize(std::max(begin_ns_.size(), index + 1), kNotStarted);
  if (begin_ns_[index] == kNotStarted) {
    begin_ns_[index] = now_ns;
  }
}

void ProgramTrace::show(const Execution& execution, std::int32_t op, std::int64_t end_ns) {
  const DeviceOp& one = execution.op(op);
  const Instruction& instruction = execution.instruction_of(one);
  const Stream& stream = program_.streams[static_cast<std::size_t>(instruction.stream)];
  const auto index = static_cast<std::size_t>(op);
  const bool has_begun = index < begin_ns_.size() && begin_ns_[index] != kNotStarted;
  if (has_begun) {
    timeline_.slice(track(one.rank, "stream " + stream.name), device_op_text(program_, instruction),
                    "device", begin_ns_[index], end_ns);
  }
}

void ProgramTrace::ended(const Execution& execution, std::int32_t op, std::int64_t now_ns) {
  show(execution, op, now_ns);
}

void ProgramTrace::host_did(std::int32_t thread, const Instruction& instruction,
                            std::int64_t since_ns, std::int64_t now_ns) {
  if (instruction.code == Code::kRepeat || instruction.code == Code::kRepeatEnd) {
    return;
  }
  const CompiledThread& of = program_.threads[static_cast<std::size_t>(thread)];
  const std::string name = is_device_code(instruction.code)
                               ? "issue " + device_op_text(program_, instruction)
                               : host_op_text(program_, instruction);
  timeline_.slice(track(of.rank, "thread " + of.name), name, "host", since_ns, now_ns);
}

void ProgramTrace::finish(const Execution& execution,
                          const std::vector<std::int64_t>& waiting_since_ns,
                          const ProgramResult& result) {
  const std::int64_t end_ns = drawn_end_ns(result.simulated_ns);
  for (const std::int32_t op : execution.live_ops()) {
    show(execution, op, end_ns);
  }
  for (std::size_t thread = 0; thread < waiting_since_ns.size(); ++thread) {
    const auto index = static_cast<std::int32_t>(thread);
    if (waiting_since_ns[thread] >= 0 && !execution.has_ended(index)) {
      host_did(index, execution.next_of(index), waiting_since_ns[thread], end_ns);
    }
  }
  if (!result.hang.has_value()) {
    return;
  }
  const std::vector<Wait>& waits = result.hang->explanation;
  for (std::size_t link = 0; link < waits.size(); ++link) {
    const Wait& wait = waits[link];
    timeline_.slice(track(wait.rank, "hang"),
                    fmt::format("{} of {}: {}", link + 1, waits.size(), wait.operation), "hang",
                    std::min(result.hang->at_ns, end_ns), end_ns,
                    {{"holds", wait.holds}, {"waits for", wait.waits_for}});
  }
}

}  // namespace eplb::sim
