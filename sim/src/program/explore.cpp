#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "eplb/sim/program/program_run.hpp"
#include "execution.hpp"
#include "wait_graph.hpp"

namespace eplb::sim {
namespace {

constexpr std::int32_t kRanksMax = 4;

std::uint64_t key_of(const Execution& execution) {
  Digest digest;
  execution.add_to(digest);
  return digest.value();
}

/// Tries orders depth first. States that were seen are told by a 64-bit digest: that two different
/// ones share it is less likely than 1 in a million for a million states.
class Explorer {
 public:
  explicit Explorer(const CompiledProgram& program) {
    lone_.assign(program.threads.size(), true);
    for (std::size_t one = 0; one < program.threads.size(); ++one) {
      const std::int32_t rank = program.threads[one].rank;
      lone_[one] = std::ranges::count(program.threads, rank, &CompiledThread::rank) == 1;
    }
    push(Execution(program));
  }

  Exploration explore(std::int64_t state_count_max) {
    while (!open_.empty() && static_cast<std::int64_t>(seen_.size()) < state_count_max) {
      Execution execution = std::move(open_.back());
      open_.pop_back();
      const std::vector<Step> steps = execution.steps();
      if (steps.empty() && !execution.is_finished()) {
        found_.can_hang = true;
        found_.explanation = WaitGraph(execution).explain().explanation;
        break;
      }
      if (const Step* safe = safe_step(execution, steps); safe != nullptr) {
        execution.take(*safe);
        push(std::move(execution));
        continue;
      }
      for (const Step& step : steps) {
        Execution next = execution;
        next.take(step);
        push(std::move(next));
      }
    }
    found_.state_count = static_cast<std::int64_t>(seen_.size());
    found_.is_complete = found_.can_hang || open_.empty();
    return std::move(found_);
  }

 private:
  void push(Execution execution) {
    if (seen_.insert(key_of(execution)).second) {
      open_.push_back(std::move(execution));
    }
  }

  /// A step that commutes with all that others may do before it and keeps nothing from happening,
  /// so that no hang is lost if it goes first: issuing from the only thread of a rank, since a
  /// queue is taken from at its other end.
  [[nodiscard]] const Step* safe_step(const Execution& execution,
                                      const std::vector<Step>& steps) const {
    const auto found = std::ranges::find_if(steps, [&](const Step& step) {
      if (step.kind == Step::Kind::kHost && lone_[static_cast<std::size_t>(step.index)]) {
        return is_device_code(execution.next_of(step.index).code) ||
               execution.next_of(step.index).code == Code::kSleep;
      }
      return step.kind == Step::Kind::kReach && lone_[static_cast<std::size_t>(step.index)];
    });
    return found == steps.end() ? nullptr : &*found;
  }

  std::vector<bool> lone_;  ///< Threads that have their rank to themselves.
  std::vector<Execution> open_;
  std::set<std::uint64_t> seen_;
  Exploration found_;
};

}  // namespace

Result<Exploration> explore_program(const Program& program, std::int64_t state_count_max) {
  if (program.ranks > kRanksMax) {
    return fail(ErrorCode::kUnsupported, "every order is tried for at most 4 ranks");
  }
  if (!problems_of(program).empty()) {
    return fail(ErrorCode::kInvalidArgument, "the program is not legal");
  }
  const CompiledProgram compiled = compile(program);
  return Explorer(compiled).explore(state_count_max);
}

}  // namespace eplb::sim
