#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "eplb/sim/program/program.hpp"
#include "eplb/sim/program/sm_pool.hpp"

namespace eplb::sim {

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
  kRepeat,     ///< Skips its body when it has run `times` times.
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
  std::int64_t duration_ns = 0;
  std::int64_t times = 0;     ///< Of a repeat, or kForever.
  std::int32_t jump = kNone;  ///< Of a repeat: behind its end; of its end: the repeat.
  bool is_lost = false;       ///< Of a send.
};

struct Kernel {
  KernelKind kind = KernelKind::kPlain;
  std::string name;
  CtaDemand demand;
  std::int32_t ctas = 1;
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
  std::string name;
};

struct Stream {
  std::int32_t rank = 0;
  std::string name;
  std::int32_t queue = 0;  ///< Hardware queue, counted over all ranks.
};

/// Ranks that meet under a name: a group of kernels or a barrier.
struct Meeting {
  std::string name;
  std::vector<std::int32_t> ranks;
};

struct Channel {
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::string tag;
};

struct CompiledThread {
  std::int32_t rank = 0;
  std::string name;
  std::vector<Instruction> code;
};

/// A legal program with its names resolved.
struct CompiledProgram {
  std::int32_t ranks = 1;
  ProcessorOptions processor;
  std::int32_t max_connections = 8;
  bool waiting_gang_blocks_later_kernels = false;
  std::vector<CompiledThread> threads;
  std::vector<Stream> streams;
  std::vector<Kernel> kernels;
  std::vector<Meeting> groups;
  std::vector<Meeting> barriers;
  std::vector<OwnedName> events;
  std::vector<OwnedName> mutexes;
  std::vector<OwnedName> flags;
  std::vector<OwnedName> exclusives;
  std::vector<Channel> channels;
  bool repeats_forever = false;
};

/// `program` must be legal by problems_of.
[[nodiscard]] CompiledProgram compile(const Program& program);

}  // namespace eplb::sim
