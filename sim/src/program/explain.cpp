#include <fmt/core.h>

#include <algorithm>
#include <deque>

#include "shortest_circle.hpp"
#include "wait_graph.hpp"

namespace eplb::sim {
namespace {

/// Enough of what waits for something in vain; the rest says no more.
constexpr std::size_t kVictimsMax = 8;

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

}  // namespace

std::vector<std::int32_t> WaitGraph::shortest_circle() const {
  std::vector<std::vector<std::int32_t>> next(clauses_.size());
  for (std::int32_t node = 0; at(node) < clauses_.size(); ++node) {
    if (stuck_[at(node)]) {
      next[at(node)] = next_of(node);
    }
  }
  return sim::shortest_circle(next);
}

Hang WaitGraph::explain() const {
  Hang hang;
  const std::vector<std::int32_t> circle = shortest_circle();
  std::vector<WaitReason> reasons;
  if (!circle.empty()) {
    for (std::size_t index = 0; index < circle.size(); ++index) {
      const std::int32_t target = circle[(index + 1) % circle.size()];
      const WaitClause& clause = *clause_to(circle[index], target);
      reasons.push_back(clause.reason);
      hang.explanation.push_back(wait_of(circle[index], clause, target));
    }
    hang.advice = advice_for(reasons);
    return hang;
  }
  std::deque<std::int32_t> open;
  std::vector<bool> seen(clauses_.size(), false);
  hang.kind = HangKind::kMissingPeer;
  hang.advice =
      "Let every rank take part in what the others wait for, also when it has nothing to do, and "
      "give each wait a deadline that aborts on all ranks.";
  for (std::int32_t node = 0; at(node) < clauses_.size(); ++node) {
    if (const WaitClause* clause = vain_clause(node); stuck_[at(node)] && clause != nullptr) {
      open.push_back(node);
      seen[at(node)] = true;
      hang.explanation.push_back(wait_of(node, *clause, kNone));
      if (is_lost(node)) {
        hang.kind = HangKind::kLostMessage;
        hang.advice =
            "Give the receive a deadline and send again, or use a transport that tells of a loss: "
            "nothing else ends this wait.";
      }
    }
  }
  while (!open.empty() && hang.explanation.size() < kVictimsMax) {
    const std::int32_t target = open.front();
    open.pop_front();
    for (std::int32_t node = 0; at(node) < clauses_.size(); ++node) {
      const WaitClause* clause =
          stuck_[at(node)] && !seen[at(node)] ? clause_to(node, target) : nullptr;
      if (clause != nullptr && hang.explanation.size() < kVictimsMax) {
        seen[at(node)] = true;
        open.push_back(node);
        hang.explanation.push_back(wait_of(node, *clause, target));
      }
    }
  }
  return hang;
}

Hang WaitGraph::explain_starved(std::int32_t node) const {
  Hang hang;
  hang.kind = HangKind::kStall;
  hang.advice =
      "Others keep taking what it waits for: order it before them with an event, or leave room for "
      "it; a watchdog with a deadline should end such a wait.";
  for (const WaitClause& clause : clauses_[at(node)]) {
    const std::int32_t target = clause.targets.empty() ? kNone : clause.targets.front();
    hang.explanation.push_back(wait_of(node, clause, target));
  }
  return hang;
}

bool WaitGraph::is_lost(std::int32_t thread) const {
  if (!is_thread(thread) || execution_.next_of(thread).code != Code::kRecv) {
    return false;
  }
  const std::int32_t channel = execution_.next_of(thread).object;
  return std::ranges::any_of(execution_.program().threads, [&](const CompiledThread& one) {
    return std::ranges::any_of(one.code, [&](const Instruction& instruction) {
      return instruction.code == Code::kSend && instruction.object == channel &&
             instruction.is_lost;
    });
  });
}

Wait WaitGraph::wait_of(std::int32_t node, const WaitClause& clause, std::int32_t target) const {
  return {
      .rank = rank_of(node),
      .operation = name_of(node),
      .holds = holds_of(node),
      .waits_for = target == kNone ? vain_text(node, clause) : target_text(node, clause, target)};
}

std::string WaitGraph::name_of(std::int32_t node) const {
  const CompiledProgram& program = execution_.program();
  if (!is_thread(node)) {
    return device_op_text(program, execution_.instruction_of(execution_.op(op_of(node))));
  }
  const std::string& name = program.threads[at(node)].name;
  return execution_.has_ended(node)
             ? fmt::format("thread {}", name)
             : fmt::format("thread {} ({})", name, host_op_text(program, execution_.next_of(node)));
}

std::string WaitGraph::holds_of(std::int32_t node) const {
  const CompiledProgram& program = execution_.program();
  std::string text;
  if (is_thread(node)) {
    for (std::int32_t mutex = 0; at(mutex) < program.mutexes.size(); ++mutex) {
      if (execution_.mutex_holder(mutex) == node) {
        text += (text.empty() ? "mutex " : ", mutex ") + program.mutexes[at(mutex)].name;
      }
    }
    return text;
  }
  std::int32_t ctas = 0;
  std::vector<bool> sms(at(program.processor.sm_count), false);
  for (const CtaBatch& batch : execution_.op(op_of(node)).batches) {
    for (const CtaPlacement& placement : batch.placements) {
      ctas += batch.is_running ? placement.ctas : 0;
      sms[at(placement.sm)] = sms[at(placement.sm)] || batch.is_running;
    }
  }
  return ctas == 0 ? "" : fmt::format("{} of {} SMs", std::ranges::count(sms, true), sms.size());
}

std::string WaitGraph::target_text(std::int32_t node, const WaitClause& clause,
                                   std::int32_t target) const {
  const CompiledProgram& program = execution_.program();
  const std::string name = name_of(target);
  switch (clause.reason) {
    case WaitReason::kStream:
      return "what stands before it in its stream: " + name;
    case WaitReason::kQueue:
      return fmt::format("{}, which stands before it in the hardware queue that they share", name);
    case WaitReason::kEvent:
      return "the event's " + name;
    case WaitReason::kPeer:
      return is_thread(target)
                 ? fmt::format("its peer on rank {}, which is yet to be launched by {}",
                               clause.rank, name)
                 : fmt::format("its peer on rank {}, which has not started: {}", clause.rank, name);
    case WaitReason::kRoom:
      return "room on the SMs that " + name + " holds";
    case WaitReason::kGang:
      return name + ", a gang that came before it and waits for room";
    case WaitReason::kExclusive:
      return fmt::format(
          "{}, which {} holds",
          program.exclusives[at(execution_.kernel_of(execution_.op(op_of(node)))->exclusive)].name,
          name);
    case WaitReason::kSync:
      return name + " to end";
    case WaitReason::kMutex:
      return "the mutex that " + name + " holds";
    case WaitReason::kFlag:
      return "the flag that is to be set by " + name;
    case WaitReason::kBarrier:
      return fmt::format("rank {} at the barrier, where {} has yet to come", clause.rank, name);
    case WaitReason::kMessage:
      return fmt::format("the message that is to be sent on rank {} by {}", clause.rank, name);
  }
  return "";
}

std::string WaitGraph::vain_text(std::int32_t node, const WaitClause& clause) const {
  switch (clause.reason) {
    case WaitReason::kFlag:
      return "the flag, which no thread will set any more";
    case WaitReason::kMessage:
      return is_lost(node)
                 ? fmt::format("the message from rank {}, which was sent and got lost", clause.rank)
                 : fmt::format("a message that rank {} does not send", clause.rank);
    case WaitReason::kBarrier:
      return fmt::format("rank {} at the barrier, which no thread of it will reach", clause.rank);
    case WaitReason::kPeer:
      return fmt::format("its peer on rank {}, which nobody will launch", clause.rank);
    default:
      return "what will not come";
  }
}

}  // namespace eplb::sim
