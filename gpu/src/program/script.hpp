#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "eplb/core/result.hpp"
#include "eplb/gpu/program/program.hpp"
#include "launch_record.hpp"

namespace eplb::gpu::program {

/// What an instruction does; a repeat becomes a pair of jumps.
enum class Code : std::uint8_t {
  kLaunch,
  kCopy,
  kRecord,
  kWait,
  kSyncStream,
  kSyncEvent,
  kSyncDevice,
  kLock,
  kUnlock,
  kSet,
  kAwait,
  kBarrier,
  kSend,
  kRecv,
  kSleep,
  kRepeat,     ///< Its body runs `times` times, at least once.
  kRepeatEnd,  ///< Back to its kRepeat.
};

[[nodiscard]] constexpr bool is_device_code(Code code) {
  return code <= Code::kWait;
}

[[nodiscard]] constexpr bool is_sync(Code code) {
  return code == Code::kSyncStream || code == Code::kSyncEvent || code == Code::kSyncDevice;
}

inline constexpr std::int32_t kNone = -1;
inline constexpr std::int64_t kForever = -1;

/// Names became indices, of which each kind of thing has its own.
struct Instruction {
  Code code = Code::kSleep;
  std::int32_t stream = kNone;
  std::int32_t object = kNone;  ///< Event, mutex, flag, barrier or channel; of a launch its kernel.
  std::int64_t duration_ns = 0;  ///< Of a sleep.
  std::int64_t bytes = 0;        ///< Of a copy.
  std::int32_t to = kNone;       ///< Rank that a copy goes to; kNone: the host.
  std::int64_t times = 0;        ///< Of a repeat, or kForever.
  std::int32_t jump = kNone;     ///< Of a repeat: behind its end; of its end: the repeat.
  bool is_lost = false;          ///< Of a send.
};

struct Kernel {
  KernelKind kind = KernelKind::kPlain;
  std::string name = {};
  std::int32_t rank = 0;
  std::int32_t ctas = 1;
  std::int32_t threads = 1;
  std::int32_t smem_kb = 0;
  std::int64_t duration_ns = 0;
  std::int32_t group = kNone;      ///< Of a rendezvous.
  std::int32_t exclusive = kNone;  ///< Index of an exclusive thing of the rank.
};

[[nodiscard]] constexpr bool is_gang(KernelKind kind) {
  return kind == KernelKind::kGang || kind == KernelKind::kGangRendezvous;
}

[[nodiscard]] constexpr bool meets_peers(KernelKind kind) {
  return kind == KernelKind::kRendezvous || kind == KernelKind::kGangRendezvous;
}

/// Something that a rank's threads share by name.
struct OwnedName {
  std::int32_t rank = 0;
  std::string name = {};
};

/// Ranks that meet under a name: a group of kernels or a barrier.
struct Meeting {
  std::string name = {};
  std::vector<std::int32_t> ranks = {};  ///< Ascending.
};

struct Channel {
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::string tag = {};
};

struct ScriptThread {
  std::int32_t rank = 0;
  std::string name = {};
  std::vector<Instruction> code = {};
};

/// A program with its names resolved, as host threads run it.
struct Script {
  std::int32_t ranks = 1;
  std::vector<ScriptThread> threads = {};
  std::vector<OwnedName> streams = {};
  std::vector<Kernel> kernels = {};
  std::vector<Meeting> groups = {};
  std::vector<Meeting> barriers = {};
  std::vector<OwnedName> events = {};
  std::vector<OwnedName> mutexes = {};
  std::vector<OwnedName> flags = {};
  std::vector<OwnedName> exclusives = {};
  std::vector<Channel> channels = {};
};

inline constexpr std::int64_t kCopyBytesMax = std::int64_t{1} << 32;

/// Sleeps and kernels last `time_scale` times as long as the program says. kInvalidArgument with
/// all that keeps the program from being run.
[[nodiscard]] Result<Script> compile(const Program& program, double time_scale);

/// Where a thread stands in its code, repeats taken.
class Cursor {
 public:
  explicit Cursor(const std::vector<Instruction>& code);

  /// Index of what comes next; past the last instruction at the end.
  [[nodiscard]] std::size_t next() const { return next_; }

  [[nodiscard]] bool has_ended() const { return next_ >= code_->size(); }

  void advance();

 private:
  /// Repeats take no time: the cursor stands at what is done next, or at the end.
  void skip_repeats();

  const std::vector<Instruction>* code_;
  std::size_t next_ = 0;
  std::vector<std::int64_t> rounds_;  ///< Of each repeat underway, by depth.
};

// What an operation is called, in the simulator's words.
[[nodiscard]] std::string device_op_text(const Script& script, const Instruction& instruction);
[[nodiscard]] std::string host_op_text(const Script& script, const Instruction& instruction);

}  // namespace eplb::gpu::program
