#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "eplb/core/result.hpp"
#include "eplb/sim/program/program.hpp"
#include "eplb/sim/timeline.hpp"

namespace eplb::sim {

/// One link of a chain of waiting, in words of a serving engineer.
struct Wait {
  std::int32_t rank = 0;
  std::string operation;  ///< Who waits.
  std::string holds;      ///< What it keeps from others meanwhile; empty if nothing.
  std::string waits_for;

  friend bool operator==(const Wait&, const Wait&) = default;
};

enum class HangKind : std::uint8_t {
  kDeadlock,     ///< Operations wait for each other in a circle.
  kLostMessage,  ///< All waits lead to a message that never arrives.
  kMissingPeer,  ///< All waits lead to something that nobody will do.
  kStall,        ///< Something waits without end while the rest goes on as if all were well.
};

[[nodiscard]] std::string_view to_string(HangKind kind);

struct Hang {
  std::int64_t at_ns = 0;  ///< When the last operation of the circle began to wait.
  HangKind kind = HangKind::kDeadlock;
  /// A shortest circle, each waiting for the next and the last for the first; otherwise what waits
  /// in vain, then what waits for that.
  std::vector<Wait> explanation;
  std::string advice;  ///< What to change.
};

struct ProgramResult {
  std::int64_t simulated_ns = 0;
  std::optional<Hang> hang;
  std::int64_t host_operation_count = 0;
  std::int64_t device_operation_count = 0;
  bool was_left = false;     ///< It would have gone on after `run_ms`.
  std::uint64_t digest = 0;  ///< Of all that happened and when.
};

/// Runs a program until it ends, hangs, or has gone on for `run_ms`. A pure function of program and
/// seed. kInvalidArgument with all problems if it is not legal. What happens is put on `timeline`,
/// if one is given; a hang's circle has the category `hang`.
[[nodiscard]] Result<ProgramResult> run_program(const Program& program, std::uint64_t seed,
                                                Timeline* timeline = nullptr);

struct Sweep {
  std::int32_t runs = 0;
  std::int32_t hangs = 0;
  std::uint64_t first_hanging_seed = 0;  ///< Where there is a hang.
};

/// The program under `sweep_seeds` seeds from `first_seed`, each with `sweep_jitter_us`.
[[nodiscard]] Result<Sweep> sweep_program(const Program& program, std::uint64_t first_seed);

/// An order that could hang, whether or not a run took it.
struct Hazard {
  std::string kind;  ///< `order`, `mutex` or `never`.
  std::vector<Wait> explanation;
  std::string advice;
};

/// Circles of waiting that some schedule may close: from stream, queue, event, host and peer order,
/// which always hold, and from room, locks and shared queues, whose order is free. Errs on the side
/// of reporting. Empty if the program is not legal.
[[nodiscard]] std::vector<Hazard> find_hazards(const Program& program);

struct Exploration {
  std::int64_t state_count = 0;
  bool is_complete = false;  ///< All orders were tried; otherwise the budget ran out.
  bool can_hang = false;
  std::vector<Wait> explanation;  ///< Of the first hang that was found.
};

/// Tries every order in which the operations may happen, without time: the oracle for what
/// find_hazards says. Takes memory for each state; give at most `state_count_max`. A program that
/// repeats for ever is never complete. kUnsupported beyond 4 ranks, kInvalidArgument as
/// run_program.
[[nodiscard]] Result<Exploration> explore_program(const Program& program,
                                                  std::int64_t state_count_max);

}  // namespace eplb::sim
