#include <string>
#include <string_view>

#include "eplb/gpu/program/outcome.hpp"
#include "script.hpp"

namespace eplb::gpu::program {
namespace {

std::string_view kind_text(KernelKind kind) {
  switch (kind) {
    case KernelKind::kPlain:
      return "plain";
    case KernelKind::kGang:
      return "gang";
    case KernelKind::kRendezvous:
      return "rendezvous";
    case KernelKind::kGangRendezvous:
      return "gang rendezvous";
  }
  return "";
}

template <typename T>
const T& item(const std::vector<T>& items, std::int32_t index) {
  return items[static_cast<std::size_t>(index)];
}

}  // namespace

std::string_view to_string(HangKind kind) {
  switch (kind) {
    case HangKind::kDeadlock:
      return "deadlock";
    case HangKind::kLostMessage:
      return "lost_message";
    case HangKind::kMissingPeer:
      return "missing_peer";
    case HangKind::kStall:
      return "silent_stall";
  }
  return "";
}

std::string device_op_text(const Script& script, const Instruction& instruction) {
  const std::string stream = " on stream " + item(script.streams, instruction.stream).name;
  switch (instruction.code) {
    case Code::kLaunch: {
      const Kernel& kernel = item(script.kernels, instruction.object);
      return "kernel " + kernel.name + " (" + std::string(kind_text(kernel.kind)) + ", " +
             std::to_string(kernel.ctas) + " CTAs)" + stream;
    }
    case Code::kCopy:
      return "copy" + stream;
    case Code::kRecord:
      return "record of event " + item(script.events, instruction.object).name + stream;
    default:
      return "wait for event " + item(script.events, instruction.object).name + stream;
  }
}

std::string host_op_text(const Script& script, const Instruction& instruction) {
  const std::int32_t object = instruction.object;
  switch (instruction.code) {
    case Code::kSyncStream:
      return "synchronizes stream " + item(script.streams, instruction.stream).name;
    case Code::kSyncEvent:
      return "synchronizes event " + item(script.events, object).name;
    case Code::kSyncDevice:
      return "synchronizes its GPU";
    case Code::kLock:
      return "locks mutex " + item(script.mutexes, object).name;
    case Code::kUnlock:
      return "unlocks mutex " + item(script.mutexes, object).name;
    case Code::kSet:
      return "sets flag " + item(script.flags, object).name;
    case Code::kAwait:
      return "awaits flag " + item(script.flags, object).name;
    case Code::kBarrier:
      return "stands at barrier " + item(script.barriers, object).name;
    case Code::kSend:
      return "sends " + item(script.channels, object).tag + " to rank " +
             std::to_string(item(script.channels, object).to);
    case Code::kRecv:
      return "receives " + item(script.channels, object).tag + " from rank " +
             std::to_string(item(script.channels, object).from);
    case Code::kSleep:
      return "sleeps";
    default:
      return "launches " + device_op_text(script, instruction);
  }
}

}  // namespace eplb::gpu::program
