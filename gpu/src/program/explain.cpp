#include <algorithm>
#include <deque>
#include <iterator>
#include <tuple>
#include <utility>

#include "wait_graph.hpp"

namespace eplb::gpu::program {
namespace {

/// Of those who wait for what waits in vain, as many are told.
constexpr std::size_t kToldMax = 8;

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

/// The shortest way from a node back to itself, by breadth.
std::vector<std::int32_t> circle_through(const std::vector<std::vector<std::int32_t>>& next,
                                         std::int32_t origin) {
  std::vector<std::int32_t> before(next.size(), kNone);
  std::deque<std::int32_t> open{origin};
  while (!open.empty()) {
    const std::int32_t node = open.front();
    open.pop_front();
    for (const std::int32_t target : next[at(node)]) {
      if (target == origin) {
        std::vector<std::int32_t> circle{node};
        while (circle.back() != origin) {
          circle.push_back(before[at(circle.back())]);
        }
        std::reverse(circle.begin(), circle.end());
        return circle;
      }
      if (before[at(target)] == kNone) {
        before[at(target)] = node;
        open.push_back(target);
      }
    }
  }
  return {};
}

}  // namespace

std::vector<std::int32_t> shortest_circle_of(const std::vector<std::vector<std::int32_t>>& next) {
  std::vector<std::int32_t> shortest;
  for (std::int32_t origin = 0; at(origin) < next.size(); ++origin) {
    std::vector<std::int32_t> circle = circle_through(next, origin);
    if (!circle.empty() && (shortest.empty() || circle.size() < shortest.size())) {
      shortest = std::move(circle);
    }
  }
  return shortest;
}

std::vector<std::int32_t> WaitGraph::stuck_targets(std::int32_t node) const {
  std::vector<std::int32_t> next;
  for (const Clause& clause : clauses_[at(node)]) {
    if (!is_met(clause)) {
      std::copy_if(clause.targets.begin(), clause.targets.end(), std::back_inserter(next),
                   [&](std::int32_t target) { return stuck_[at(target)]; });
    }
  }
  return next;
}

std::vector<std::int32_t> WaitGraph::shortest_circle() const {
  std::vector<std::vector<std::int32_t>> next(clauses_.size());
  for (std::int32_t node = 0; at(node) < next.size(); ++node) {
    if (stuck_[at(node)]) {
      next[at(node)] = stuck_targets(node);
    }
  }
  std::vector<std::int32_t> circle = shortest_circle_of(next);
  // A circle of launches is told from a launch that waits for its peer, the lowest rank's first.
  const auto first =
      std::min_element(circle.begin(), circle.end(), [&](std::int32_t one, std::int32_t other) {
        const auto place = [&](std::int32_t node) {
          const bool is_peer = clauses_[at(node)].front().reason == Reason::kPeer;
          return std::tuple(is_peer ? 0 : 1, rank_of(node), node);
        };
        return place(one) < place(other);
      });
  std::rotate(circle.begin(), first, circle.end());
  return circle;
}

const WaitGraph::Clause* WaitGraph::clause_to(std::int32_t node, std::int32_t target) const {
  for (const Clause& clause : clauses_[at(node)]) {
    const auto& targets = clause.targets;
    if (std::find(targets.begin(), targets.end(), target) != targets.end() && !is_met(clause)) {
      return &clause;
    }
  }
  return nullptr;
}

const WaitGraph::Clause* WaitGraph::vain_clause(std::int32_t node) const {
  const auto& clauses = clauses_[at(node)];
  const auto found = std::find_if(clauses.begin(), clauses.end(),
                                  [](const Clause& clause) { return clause.targets.empty(); });
  return found == clauses.end() ? nullptr : &*found;
}

bool WaitGraph::is_lost(std::int32_t node) const {
  if (!is_thread(node) || next_of(node).code != Code::kRecv) {
    return false;
  }
  const auto& threads = observation_.script.threads;
  return std::any_of(threads.begin(), threads.end(), [&](const ScriptThread& thread) {
    return std::any_of(thread.code.begin(), thread.code.end(), [&](const Instruction& one) {
      return one.code == Code::kSend && one.object == next_of(node).object && one.is_lost;
    });
  });
}

bool WaitGraph::others_go_on() const {
  for (std::int32_t thread = 0; is_thread(thread); ++thread) {
    const bool has_ended = at(observation_.board.threads[at(thread)].next) >=
                           observation_.script.threads[at(thread)].code.size();
    if (!stuck_[at(thread)] && !has_ended) {
      return true;
    }
  }
  return false;
}

std::optional<Hang> WaitGraph::explain() const {
  if (std::find(stuck_.begin(), stuck_.end(), true) == stuck_.end()) {
    return std::nullopt;
  }
  const std::vector<std::int32_t> circle = shortest_circle();
  return circle.empty() ? explain_vain() : explain_circle(circle);
}

Hang WaitGraph::explain_circle(const std::vector<std::int32_t>& circle) const {
  Hang hang;
  for (std::size_t index = 0; index < circle.size(); ++index) {
    const std::int32_t target = circle[(index + 1) % circle.size()];
    hang.explanation.push_back(wait_of(circle[index], *clause_to(circle[index], target), target));
    hang.at_ns = std::max(hang.at_ns, waiting_since_ns(circle[index]));
  }
  return hang;
}

Hang WaitGraph::explain_vain() const {
  Hang hang{.kind = others_go_on() ? HangKind::kStall : HangKind::kMissingPeer};
  std::deque<std::int32_t> open;
  std::vector<bool> seen(clauses_.size(), false);
  const auto tell = [&](std::int32_t node, const Clause& clause, std::int32_t target) {
    open.push_back(node);
    seen[at(node)] = true;
    hang.explanation.push_back(wait_of(node, clause, target));
    hang.at_ns = std::max(hang.at_ns, waiting_since_ns(node));
  };
  for (std::int32_t node = 0; at(node) < clauses_.size(); ++node) {
    if (const Clause* clause = vain_clause(node); clause != nullptr) {
      tell(node, *clause, kNone);
      hang.kind = is_lost(node) ? HangKind::kLostMessage : hang.kind;
    }
  }
  while (!open.empty()) {
    const std::int32_t target = open.front();
    open.pop_front();
    for (std::int32_t node = 0; at(node) < clauses_.size(); ++node) {
      const Clause* clause = seen[at(node)] ? nullptr : clause_to(node, target);
      if (clause != nullptr && hang.explanation.size() < kToldMax) {
        tell(node, *clause, target);
      }
    }
  }
  return hang;
}

std::int64_t WaitGraph::waiting_since_ns(std::int32_t node) const {
  if (is_thread(node)) {
    return observation_.board.threads[at(node)].waiting_ns;
  }
  const LaunchRecord& record = record_of(launch_of(node));
  const IssuedOp& op = op_of(launch_of(node));
  const std::int64_t gpu_ns = record.resident_ns != 0 ? record.resident_ns : record.begun_ns;
  return gpu_ns == 0 ? op.issued_ns : gpu_ns + observation_.offsets_ns[at(op.rank)];
}

Wait WaitGraph::wait_of(std::int32_t node, const Clause& clause, std::int32_t target) const {
  return {
      .rank = rank_of(node),
      .operation = name_of(node),
      .holds = holds_of(node),
      .waits_for = target == kNone ? vain_text(node, clause) : target_text(node, clause, target)};
}

std::string WaitGraph::name_of(std::int32_t node) const {
  if (!is_thread(node)) {
    return device_op_text(observation_.script, instruction_of(op_of(launch_of(node))));
  }
  const ScriptThread& thread = observation_.script.threads[at(node)];
  const bool has_ended = at(observation_.board.threads[at(node)].next) >= thread.code.size();
  return "thread " + thread.name +
         (has_ended ? "" : " (" + host_op_text(observation_.script, next_of(node)) + ")");
}

std::string WaitGraph::holds_of(std::int32_t node) const {
  if (!is_thread(node)) {
    const std::int32_t sms = record_of(launch_of(node)).resident_sms;
    return sms == 0 ? ""
                    : std::to_string(sms) + " of " + std::to_string(observation_.sm_count) + " SMs";
  }
  std::string text;
  for (std::size_t mutex = 0; mutex < observation_.board.mutex_holders.size(); ++mutex) {
    if (observation_.board.mutex_holders[mutex] == node) {
      text += (text.empty() ? "mutex " : ", mutex ") + observation_.script.mutexes[mutex].name;
    }
  }
  return text;
}

std::string WaitGraph::target_text(std::int32_t node, const Clause& clause,
                                   std::int32_t target) const {
  const std::string name = name_of(target);
  const std::string rank = std::to_string(clause.rank);
  switch (clause.reason) {
    case Reason::kStream:
      return "what stands before it in its stream: " + name;
    case Reason::kEvent:
      return "the event behind " + name;
    case Reason::kPeer:
      return "its peer on rank " + rank +
             (is_thread(target) ? ", which is yet to be launched by " + name
                                : ", which has not started: " + name);
    case Reason::kRoom:
      return "room on the SMs that " + name + " holds";
    case Reason::kExclusive: {
      const Kernel& kernel =
          observation_.script.kernels[at(instruction_of(op_of(launch_of(node))).object)];
      return observation_.script.exclusives[at(kernel.exclusive)].name + ", which " + name +
             " holds";
    }
    case Reason::kSync:
      return name + " to end";
    case Reason::kMutex:
      return "the mutex that " + name + " holds";
    case Reason::kFlag:
      return "the flag that is to be set by " + name;
    case Reason::kBarrier:
      return "rank " + rank + " at the barrier, where " + name + " has yet to come";
    case Reason::kMessage:
      return "the message that is to be sent on rank " + rank + " by " + name;
  }
  return "";
}

std::string WaitGraph::vain_text(std::int32_t node, const Clause& clause) const {
  const std::string rank = std::to_string(clause.rank);
  switch (clause.reason) {
    case Reason::kFlag:
      return "the flag, which no thread will set any more";
    case Reason::kMessage:
      return is_lost(node) ? "the message from rank " + rank + ", which was sent and got lost"
                           : "a message that rank " + rank + " does not send";
    case Reason::kBarrier:
      return "rank " + rank + " at the barrier, which no thread of it will reach";
    case Reason::kPeer:
      return "its peer on rank " + rank + ", which nobody will launch";
    default:
      return "what will not come";
  }
}

}  // namespace eplb::gpu::program
