#include "eplb/gpu/program/run_program.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <latch>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <utility>

#include "board.hpp"
#include "eplb/gpu/error.hpp"
#include "eplb/gpu/kernel_resources.hpp"
#include "machine.hpp"
#include "place_ranks.hpp"
#include "script.hpp"
#include "wait_graph.hpp"

namespace eplb::gpu::program {
namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

Result<void> check_options(const RunOptions& options) {
  const auto require = [](bool holds, const char* message) -> Result<void> {
    return holds ? Result<void>{} : fail(ErrorCode::kInvalidArgument, message);
  };
  if (auto limit =
          require(options.limit_ms >= 1 && options.limit_ms <= 1000, "limit_ms: must be 1 to 1000");
      !limit) {
    return limit;
  }
  if (auto scale = require(options.limit_scale >= 1 && options.limit_scale <= 100,
                           "limit_scale: must be 1 to 100");
      !scale) {
    return scale;
  }
  return require(options.time_scale >= 1 && options.time_scale <= 1000,
                 "time_scale: must be 1 to 1000");
}

/// What rests must not look like what hangs.
Result<void> check_durations(const Script& script, std::int64_t limit_ns) {
  std::int64_t longest_ns = 0;
  for (const Kernel& kernel : script.kernels) {
    longest_ns = std::max(longest_ns, kernel.duration_ns);
  }
  for (const ScriptThread& thread : script.threads) {
    for (const Instruction& instruction : thread.code) {
      longest_ns = std::max(longest_ns, instruction.duration_ns);
    }
  }
  if (longest_ns > limit_ns / 2) {
    return fail(ErrorCode::kInvalidArgument,
                "a kernel or a sleep lasts " + std::to_string(longest_ns / kNsPerMs) +
                    " ms, stretched; at most half of the limit of " +
                    std::to_string(limit_ns / kNsPerMs) + " ms can be told from a hang");
  }
  return {};
}

Result<std::vector<std::int32_t>> devices_of(const Script& script, const RunOptions& options) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver) {
    return fail(ErrorCode::kUnsupported, "needs a GPU, and there is none");
  }
  EPLB_CUDA(status);
  std::vector<std::int32_t> ordinals = options.devices;
  if (ordinals.empty()) {
    ordinals.resize(at(count));
    std::iota(ordinals.begin(), ordinals.end(), 0);
  }
  std::vector<std::int32_t> sorted = ordinals;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    return fail(ErrorCode::kInvalidArgument, "devices: must not have one twice");
  }
  for (const std::int32_t ordinal : ordinals) {
    if (ordinal < 0 || ordinal >= count) {
      return fail(ErrorCode::kInvalidArgument, "devices: must be 0 to " +
                                                   std::to_string(count - 1) + ", got " +
                                                   std::to_string(ordinal));
    }
  }
  // All GPUs of a machine are taken to be alike.
  const DeviceGuard guard(ordinals.front());
  prepare_spin();
  GpuRoom room{.device_count = static_cast<std::int32_t>(ordinals.size()),
               .sm_count = multiprocessor_count()};
  room.ctas_per_sm.reserve(script.kernels.size());
  for (const Kernel& kernel : script.kernels) {
    room.ctas_per_sm.push_back(spin_ctas_per_sm(shape_of(kernel)));
  }
  Result<std::vector<std::int32_t>> places = place_ranks(script, room);
  if (places.has_value()) {
    for (std::int32_t& place : *places) {
      place = ordinals[at(place)];
    }
  }
  return places;
}

/// Host threads that run a script on a machine.
class ProgramRun {
 public:
  ProgramRun(const Script& script, Machine& machine, std::int64_t limit_ns, std::int64_t run_ns)
      : script_(script),
        machine_(machine),
        limit_ns_(limit_ns),
        // What waits from the start must run out before the program is left.
        run_ns_(std::max(run_ns, 2 * limit_ns)),
        board_(script, limit_ns, machine.is_over()),
        offsets_ns_(machine.clock_offsets_ns(board_)),
        start_ns_(board_.now_ns()) {}

  Result<ProgramOutcome> run() {
    run_threads();
    const bool is_idle = wait_until_idle();
    if (failure_ != nullptr) {
      std::rethrow_exception(failure_);
    }
    if (!is_idle) {
      return fail(ErrorCode::kTimeout,
                  "a GPU is still busy although all limits of the program have run out");
    }
    return outcome();
  }

 private:
  void run_threads() {
    std::latch start(1);
    std::vector<std::jthread> threads;
    threads.reserve(script_.threads.size());
    try {
      for (std::size_t thread = 0; thread < script_.threads.size(); ++thread) {
        threads.emplace_back([this, &start, thread] {
          start.wait();
          run_thread(static_cast<std::int32_t>(thread));
        });
      }
    } catch (...) {
      board_.end_run();
      start.count_down();
      throw;
    }
    start.count_down();
  }

  void run_thread(std::int32_t thread) {
    try {
      follow(thread);
    } catch (...) {
      board_.end_run();
      const std::lock_guard lock(failure_mutex_);
      failure_ = failure_ == nullptr ? std::current_exception() : failure_;
    }
  }

  void follow(std::int32_t thread) {
    const ScriptThread& script = script_.threads[at(thread)];
    EPLB_CUDA(cudaSetDevice(machine_.devices()[at(script.rank)]));
    Cursor cursor(script.code);
    while (!cursor.has_ended() && !board_.is_over()) {
      if (board_.now_ns() - start_ns_ > run_ns_ ||
          board_.launch_count() + script_.threads.size() > kLaunchesMax) {
        was_left_ = true;
      }
      if (was_left_ || !take(thread, script.code[cursor.next()])) {
        return;
      }
      cursor.advance();
      board_.reach(thread, cursor.next());
    }
  }

  /// False if the run was over before it was done.
  bool take(std::int32_t thread, const Instruction& instruction) {
    if (is_device_code(instruction.code)) {
      board_.issue(thread, [this](const IssuedOp& op) { machine_.enqueue(op); });
      return true;
    }
    if (is_sync(instruction.code)) {
      const std::int32_t rank = script_.threads[at(thread)].rank;
      return board_.wait(thread, [&] { return machine_.is_synchronized(rank, instruction); });
    }
    return board_.pass(thread, instruction);
  }

  [[nodiscard]] bool wait_until_idle() const {
    constexpr std::chrono::microseconds kPollInterval{50};
    constexpr std::int64_t kGraceNs = 5'000 * kNsPerMs;
    const std::int64_t end_ns = board_.now_ns() + 3 * limit_ns_ + kGraceNs;
    while (!machine_.is_idle()) {
      if (board_.now_ns() > end_ns) {
        return false;
      }
      std::this_thread::sleep_for(kPollInterval);
    }
    return true;
  }

  /// The clocks differ by a few microseconds, which must not put anything before the start.
  [[nodiscard]] std::int64_t on_board(std::int64_t gpu_ns, std::int32_t rank) const {
    return gpu_ns == 0 ? -1 : std::max<std::int64_t>(0, gpu_ns + offsets_ns_[at(rank)] - start_ns_);
  }

  [[nodiscard]] ProgramOutcome outcome() const {
    const BoardState& state = board_.state();
    const auto records = machine_.records().first(state.launches.size());
    const std::vector<LaunchRecord> launches(records.begin(), records.end());
    std::int64_t over_ns = state.over_ns == kNone ? board_.now_ns() : state.over_ns;
    for (std::size_t launch = 0; launch < launches.size(); ++launch) {
      const std::int32_t rank = state.ops[at(state.launches[launch])].rank;
      if (launches[launch].ran_out_ns != 0) {
        over_ns = std::min(over_ns, launches[launch].ran_out_ns + offsets_ns_[at(rank)]);
      }
    }
    const DeviceGuard guard(machine_.devices().front());
    const WaitGraph graph({.script = script_,
                           .board = state,
                           .records = launches,
                           .devices = machine_.devices(),
                           .offsets_ns = offsets_ns_,
                           .sm_count = multiprocessor_count(),
                           .over_ns = over_ns,
                           .settle_ns = limit_ns_ / 10});
    ProgramOutcome outcome{.run_ns = board_.now_ns() - start_ns_,
                           .host_operation_count = state.host_operation_count,
                           .device_operation_count = static_cast<std::int64_t>(state.ops.size()),
                           .was_left = was_left_ && !board_.is_over(),
                           .devices = machine_.devices()};
    add_kernels(graph, launches, outcome);
    if (board_.is_over()) {
      outcome.hang = graph.explain();
      if (!outcome.hang.has_value()) {
        outcome.hang = Hang{.at_ns = over_ns, .kind = HangKind::kStall};
        outcome.notes.emplace_back(
            "a limit ran out although all that waited would have gone on: it is too short for "
            "this program");
      }
      outcome.hang->at_ns -= start_ns_;
    }
    return outcome;
  }

  void add_kernels(const WaitGraph& graph, const std::vector<LaunchRecord>& launches,
                   ProgramOutcome& outcome) const {
    const BoardState& state = board_.state();
    outcome.kernels.reserve(launches.size());
    for (std::size_t launch = 0; launch < launches.size(); ++launch) {
      const IssuedOp& op = state.ops[at(state.launches[launch])];
      const LaunchRecord& record = launches[launch];
      const auto index = static_cast<std::int32_t>(launch);
      outcome.kernels.push_back({.rank = op.rank,
                                 .operation = graph.launch_name(index),
                                 .issued_ns = op.issued_ns - start_ns_,
                                 .begun_ns = on_board(record.begun_ns, op.rank),
                                 .resident_ns = on_board(record.resident_ns, op.rank),
                                 .ended_ns = on_board(record.ended_ns, op.rank),
                                 .ran_out = record.ran_out_ns != 0,
                                 .resident_ctas = record.resident_ctas,
                                 .was_kept_out = record.kept_out != 0,
                                 .waited_for = graph.launch_waits_for(index)});
    }
  }

  const Script& script_;
  Machine& machine_;
  std::int64_t limit_ns_;
  std::int64_t run_ns_;
  Board board_;
  std::vector<std::int64_t> offsets_ns_;
  std::int64_t start_ns_;
  std::atomic<bool> was_left_ = false;
  std::mutex failure_mutex_;
  std::exception_ptr failure_;  ///< The first that a host thread met.
};

void note_shared_queues(const Script& script, const Program& program, ProgramOutcome& outcome) {
  for (std::int32_t rank = 0; rank < script.ranks; ++rank) {
    const auto streams = std::count_if(script.streams.begin(), script.streams.end(),
                                       [&](const OwnedName& one) { return one.rank == rank; });
    if (streams > program.max_connections) {
      outcome.notes.push_back("the " + std::to_string(streams) + " streams of rank " +
                              std::to_string(rank) + " share hardware queues: as many as " +
                              "CUDA_DEVICE_MAX_CONNECTIONS said when the process began, not the " +
                              std::to_string(program.max_connections) + " of the program");
    }
  }
}

}  // namespace

Result<ProgramOutcome> run_program(const Program& program, const RunOptions& options) {
  if (Result<void> legal = check_options(options); !legal) {
    return tl::unexpected(std::move(legal).error());
  }
  const Result<Script> script = compile(program, options.time_scale);
  if (!script.has_value()) {
    return tl::unexpected(script.error());
  }
  const std::int64_t limit_ns = std::int64_t{options.limit_ms} * options.limit_scale * kNsPerMs;
  if (Result<void> told_apart = check_durations(*script, limit_ns); !told_apart) {
    return tl::unexpected(std::move(told_apart).error());
  }
  Result<std::vector<std::int32_t>> devices = devices_of(*script, options);
  if (!devices.has_value()) {
    return tl::unexpected(std::move(devices).error());
  }
  Machine machine(*script, std::move(*devices), limit_ns);
  const double run_ns = program.run_ms * static_cast<double>(kNsPerMs);
  ProgramRun run(*script, machine, limit_ns, static_cast<std::int64_t>(run_ns));
  Result<ProgramOutcome> outcome = run.run();
  if (outcome.has_value()) {
    note_shared_queues(*script, program, *outcome);
  }
  return outcome;
}

}  // namespace eplb::gpu::program
