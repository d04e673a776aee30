#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

/// What host threads, streams and kernels do, to be run on real GPUs: the simulator's program in
/// structs of our own, since neither library knows the other. No header here needs CUDA but
/// gang.hpp.
namespace eplb::gpu::program {

/// When a kernel's thread blocks (CTAs) come to the SMs and when it ends.
enum class KernelKind : std::uint8_t {
  kPlain,           ///< CTAs come as room allows; each ends by itself.
  kGang,            ///< A cooperative launch; ends when all CTAs were resident together.
  kRendezvous,      ///< CTAs come as room allows; it ends when all CTAs of all peers are resident.
  kGangRendezvous,  ///< Both.
};

/// Starts a kernel that spins. The n-th launch of a group on a rank meets the n-th of each peer.
struct LaunchOp {
  std::string stream = {};
  KernelKind kind = KernelKind::kPlain;
  std::string name = {};  ///< What reports call it; empty: its group or its kind.
  std::int32_t ctas = 1;
  std::int32_t threads = 128;   ///< Of a CTA.
  std::int32_t registers = 32;  ///< Of a thread; more than 32 cannot be demanded here.
  std::int32_t smem_kb = 0;     ///< Shared memory of a CTA.
  double us = 10;               ///< From when it has all that it needs; of each CTA if plain.
  std::string group = {};       ///< Of a rendezvous.
  std::vector<std::int32_t> ranks = {};  ///< Of the group; empty: all.
  /// Something of the rank's that only one kernel at a time can hold. A kernel holds its SMs while
  /// it waits for it, as kernels that spin on a signal pad do.
  std::string exclusive = {};

  friend bool operator==(const LaunchOp&, const LaunchOp&) = default;
};

/// Copies with an engine, which holds no SM: to the rank's GPU, or to the host if there is none or
/// it is the same GPU.
struct CopyOp {
  std::string stream = {};
  std::optional<double> us = std::nullopt;  ///< Turned into bytes by the program's bandwidth.
  std::optional<std::int64_t> bytes = std::nullopt;
  std::optional<std::int32_t> to = std::nullopt;

  friend bool operator==(const CopyOp&, const CopyOp&) = default;
};

struct RecordOp {
  std::string stream = {};
  std::string event = {};

  friend bool operator==(const RecordOp&, const RecordOp&) = default;
};

/// Makes a stream wait for what the event's last record stands for. No wait if there was none yet.
struct WaitOp {
  std::string stream = {};
  std::string event = {};

  friend bool operator==(const WaitOp&, const WaitOp&) = default;
};

/// The host thread waits for a stream, an event's last record, or all of its rank's streams;
/// exactly one. It polls, so that what other threads enqueue meanwhile is waited for too.
struct SyncOp {
  std::string stream = {};
  std::string event = {};
  bool device = false;

  friend bool operator==(const SyncOp&, const SyncOp&) = default;
};

struct LockOp {
  std::string mutex = {};

  friend bool operator==(const LockOp&, const LockOp&) = default;
};

struct UnlockOp {
  std::string mutex = {};

  friend bool operator==(const UnlockOp&, const UnlockOp&) = default;
};

/// Raises a flag once; each raise lets one `await` on the same rank pass.
struct SetOp {
  std::string flag = {};

  friend bool operator==(const SetOp&, const SetOp&) = default;
};

struct AwaitOp {
  std::string flag = {};

  friend bool operator==(const AwaitOp&, const AwaitOp&) = default;
};

/// The n-th arrival of a rank waits for the n-th of each of the ranks.
struct BarrierOp {
  std::string name = {};
  std::vector<std::int32_t> ranks = {};  ///< Empty: all.

  friend bool operator==(const BarrierOp&, const BarrierOp&) = default;
};

struct SendOp {
  std::int32_t to = 0;
  std::string tag = "message";
  bool lost = false;  ///< It never arrives.

  friend bool operator==(const SendOp&, const SendOp&) = default;
};

struct RecvOp {
  std::int32_t from = 0;
  std::string tag = "message";

  friend bool operator==(const RecvOp&, const RecvOp&) = default;
};

struct SleepOp {
  double us = 0;

  friend bool operator==(const SleepOp&, const SleepOp&) = default;
};

struct Operation;

struct RepeatOp {
  std::optional<std::int64_t> times = std::nullopt;  ///< None: until the program is left.
  std::vector<Operation> body;

  friend bool operator==(const RepeatOp& one, const RepeatOp& other);
};

struct Operation {
  std::variant<LaunchOp, CopyOp, RecordOp, WaitOp, SyncOp, LockOp, UnlockOp, SetOp, AwaitOp,
               BarrierOp, SendOp, RecvOp, SleepOp, RepeatOp>
      what = {};

  friend bool operator==(const Operation&, const Operation&) = default;
};

/// Here, where an operation is known in full.
inline bool operator==(const RepeatOp& one, const RepeatOp& other) {
  return one.times == other.times && one.body == other.body;
}

/// One thread of those that drive a rank's GPU. Streams, events, mutexes and flags belong to the
/// rank and are shared by its threads.
struct HostThread {
  std::int32_t rank = 0;
  std::string name = {};
  std::vector<Operation> operations = {};

  friend bool operator==(const HostThread&, const HostThread&) = default;
};

struct Program {
  std::int32_t ranks = 1;  ///< At most 64.
  /// Hardware queues that the program counts on. The GPU has as many as CUDA_DEVICE_MAX_CONNECTIONS
  /// said when the process began (8 if unset); a rank with more streams than either is told of.
  std::int32_t max_connections = 8;
  double copy_bandwidth_gb_per_s = 1;  ///< Decimal GB; for copies given in us.
  double run_ms = 500;                 ///< A program that goes on for longer is left then.
  std::vector<HostThread> threads = {};

  friend bool operator==(const Program&, const Program&) = default;
};

}  // namespace eplb::gpu::program
