#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "eplb/sim/options.hpp"

namespace eplb::sim {

/// When a kernel's thread blocks (CTAs) come to the SMs and when it ends.
enum class KernelKind : std::uint8_t {
  kPlain,           ///< CTAs come as room allows; each ends by itself.
  kGang,            ///< All CTAs at once or none yet: a cooperative launch.
  kRendezvous,      ///< CTAs come as room allows; it ends when all CTAs of all peers are resident.
  kGangRendezvous,  ///< Both.
};

/// Starts a kernel. The n-th launch of a group on a rank meets the n-th of each peer.
struct LaunchOp {
  std::string stream = {};
  KernelKind kind = KernelKind::kPlain;
  std::string name = {};  ///< What reports call it; empty: its group or its kind.
  std::int32_t ctas = 1;
  std::int32_t threads = 128;   ///< Of a CTA.
  std::int32_t registers = 32;  ///< Of a thread.
  std::int32_t smem_kb = 0;     ///< Shared memory of a CTA.
  double us = 10;               ///< From when it has all that it needs; of each CTA if plain.
  std::string group = {};       ///< Of a rendezvous.
  std::vector<std::int32_t> ranks = {};  ///< Of the group; empty: all.
  /// Something of the rank's that only one kernel at a time can hold, as a signal pad.
  std::string exclusive = {};
};

/// Copies with an engine, which holds no SM. Takes `us`, or what `bytes` take to a peer.
struct CopyOp {
  std::string stream = {};
  std::optional<double> us = std::nullopt;
  std::optional<std::int64_t> bytes = std::nullopt;
  std::optional<std::int32_t> to = std::nullopt;  ///< Rank; for the reader.
};

struct RecordOp {
  std::string stream;
  std::string event;
};

/// Makes a stream wait for what the event's last record stands for. No wait if there was none yet.
struct WaitOp {
  std::string stream;
  std::string event;
};

/// The host thread waits for a stream, an event's last record, or all of its GPU; exactly one.
struct SyncOp {
  std::string stream = {};
  std::string event = {};
  bool device = false;
};

struct LockOp {
  std::string mutex;
};

struct UnlockOp {
  std::string mutex;
};

/// Raises a flag once; each raise lets one `await` on the same rank pass.
struct SetOp {
  std::string flag;
};

struct AwaitOp {
  std::string flag;
};

/// The n-th arrival of a rank waits for the n-th of each of the ranks.
struct BarrierOp {
  std::string name;
  std::vector<std::int32_t> ranks = {};  ///< Empty: all.
};

struct SendOp {
  std::int32_t to = 0;
  std::string tag = "message";
  bool lost = false;  ///< It never arrives.
};

struct RecvOp {
  std::int32_t from = 0;
  std::string tag = "message";
};

struct SleepOp {
  double us = 0;
};

struct Operation;

struct RepeatOp {
  std::optional<std::int64_t> times = std::nullopt;  ///< None: forever.
  std::vector<Operation> body;
};

struct Operation {
  std::variant<LaunchOp, CopyOp, RecordOp, WaitOp, SyncOp, LockOp, UnlockOp, SetOp, AwaitOp,
               BarrierOp, SendOp, RecvOp, SleepOp, RepeatOp>
      what;
};

/// One thread of the process that drives a rank's GPU. Streams, events, mutexes and flags belong to
/// the rank and are shared by its threads.
struct HostThread {
  std::int32_t rank = 0;
  std::string name = {};
  std::vector<Operation> operations = {};
};

/// What some ranks' host threads do, to see whether it can hang.
struct Program {
  std::int32_t ranks = 1;  ///< One GPU each.
  ProcessorOptions processor = {};
  /// Hardware queues of a GPU (CUDA_DEVICE_MAX_CONNECTIONS). Streams beyond share them in turn and
  /// wait for each other although nothing in the program says so.
  std::int32_t max_connections = 8;
  /// Whether a gang that waits for room keeps kernels issued after it from taking the SMs that
  /// become free. Nobody documents it, so a program may be run both ways.
  bool waiting_gang_blocks_later_kernels = false;
  double copy_bandwidth_gb_per_s = 1;  ///< Decimal GB; for copies given in bytes.
  double copy_start_us = 0;
  double host_operation_us = 2;  ///< What every operation costs its host thread.
  double jitter_us = 0;          ///< A random delay of up to this much before each operation.
  double watchdog_ms = 100;      ///< What waits longer, while others go on, has stalled.
  double run_ms = 500;           ///< A program that goes on for longer is left then.
  std::int32_t sweep_seeds = 32;
  double sweep_jitter_us = 50;  ///< The jitter of the sweep.
  std::vector<HostThread> threads = {};
};

/// Something wrong with a program.
struct ProgramProblem {
  std::int32_t thread = -1;     ///< Index; -1 if it is not about one.
  std::int32_t operation = -1;  ///< In the thread, counted as written, a repeat before its body.
  std::string message;
};

/// All that keeps the program from being run; empty if it is legal.
[[nodiscard]] std::vector<ProgramProblem> problems_of(const Program& program);

}  // namespace eplb::sim
