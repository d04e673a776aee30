#include <fmt/core.h>

#include <algorithm>

#include "wait_graph.hpp"

namespace eplb::sim {
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

std::string device_op_text(const CompiledProgram& program, const Instruction& instruction) {
  const std::string& stream = item(program.streams, instruction.stream).name;
  switch (instruction.code) {
    case Code::kLaunch: {
      const Kernel& kernel = item(program.kernels, instruction.object);
      return fmt::format("kernel {} ({}, {} CTAs) on stream {}", kernel.name,
                         kind_text(kernel.kind), kernel.ctas, stream);
    }
    case Code::kCopy:
      return fmt::format("copy on stream {}", stream);
    case Code::kRecord:
      return fmt::format("record of event {} on stream {}",
                         item(program.events, instruction.object).name, stream);
    default:
      return fmt::format("wait for event {} on stream {}",
                         item(program.events, instruction.object).name, stream);
  }
}

std::string host_op_text(const CompiledProgram& program, const Instruction& instruction) {
  switch (instruction.code) {
    case Code::kSyncStream:
      return fmt::format("synchronizes stream {}", item(program.streams, instruction.stream).name);
    case Code::kSyncEvent:
      return fmt::format("synchronizes event {}", item(program.events, instruction.object).name);
    case Code::kSyncDevice:
      return "synchronizes its GPU";
    case Code::kLock:
      return fmt::format("locks mutex {}", item(program.mutexes, instruction.object).name);
    case Code::kUnlock:
      return fmt::format("unlocks mutex {}", item(program.mutexes, instruction.object).name);
    case Code::kSet:
      return fmt::format("sets flag {}", item(program.flags, instruction.object).name);
    case Code::kAwait:
      return fmt::format("awaits flag {}", item(program.flags, instruction.object).name);
    case Code::kBarrier:
      return fmt::format("stands at barrier {}", item(program.barriers, instruction.object).name);
    case Code::kSend:
      return fmt::format("sends {} to rank {}", item(program.channels, instruction.object).tag,
                         item(program.channels, instruction.object).to);
    case Code::kRecv:
      return fmt::format("receives {} from rank {}", item(program.channels, instruction.object).tag,
                         item(program.channels, instruction.object).from);
    case Code::kSleep:
      return "sleeps";
    default:
      return "launches " + device_op_text(program, instruction);
  }
}

std::string advice_for(const std::vector<WaitReason>& reasons) {
  const auto has = [&](WaitReason reason) {
    return std::ranges::find(reasons, reason) != reasons.end();
  };
  if (has(WaitReason::kGang)) {
    return "Order kernels after the gang by an event on every rank, or leave them room beside it; "
           "a "
           "gang that waits can hold up what comes after it.";
  }
  if (has(WaitReason::kRoom)) {
    return "Start the kernels in the same order on all ranks (one stream, or an event between "
           "them), or let all of them fit on the SMs together (a smaller gang, fewer NCCL CTAs), "
           "or "
           "move the data with copy engines and CPU barriers, which hold no SM.";
  }
  if (has(WaitReason::kExclusive)) {
    return "Give each stream a slot or communicator of its own, or put all that share one into the "
           "same order on all ranks (one stream, or an event between them).";
  }
  if (has(WaitReason::kMutex)) {
    return "Take locks in the same order everywhere, and hold none while waiting for a GPU, a "
           "flag, "
           "a barrier or another rank.";
  }
  if (has(WaitReason::kQueue)) {
    return "Use fewer streams or raise CUDA_DEVICE_MAX_CONNECTIONS, so that streams that must not "
           "wait for each other do not share a hardware queue; or issue in the order in which the "
           "work can run.";
  }
  if (has(WaitReason::kPeer)) {
    return "Issue the same operations in the same order on all ranks; pair sends and receives in "
           "rounds in which each rank has one peer.";
  }
  if (has(WaitReason::kBarrier) || has(WaitReason::kFlag) || has(WaitReason::kMessage)) {
    return "Let all threads and ranks agree before any of them waits: the same barriers, flags and "
           "messages in the same order, each wait with a deadline that aborts on all ranks.";
  }
  return "Do not let a stream wait for what is issued behind it.";
}

}  // namespace eplb::sim
