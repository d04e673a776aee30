#include "gpu_program.hpp"

#include <variant>
#include <vector>

namespace eplb::cli {
namespace {

namespace program = gpu::program;

program::KernelKind convert(sim::KernelKind kind) {
  switch (kind) {
    case sim::KernelKind::kPlain:
      return program::KernelKind::kPlain;
    case sim::KernelKind::kGang:
      return program::KernelKind::kGang;
    case sim::KernelKind::kRendezvous:
      return program::KernelKind::kRendezvous;
    case sim::KernelKind::kGangRendezvous:
      return program::KernelKind::kGangRendezvous;
  }
  return program::KernelKind::kPlain;
}

program::LaunchOp convert(const sim::LaunchOp& launch) {
  return {.stream = launch.stream,
          .kind = convert(launch.kind),
          .name = launch.name,
          .ctas = launch.ctas,
          .threads = launch.threads,
          .registers = launch.registers,
          .smem_kb = launch.smem_kb,
          .us = launch.us,
          .group = launch.group,
          .ranks = launch.ranks,
          .exclusive = launch.exclusive};
}

program::CopyOp convert(const sim::CopyOp& copy) {
  return {.stream = copy.stream, .us = copy.us, .bytes = copy.bytes, .to = copy.to};
}

program::RecordOp convert(const sim::RecordOp& record) {
  return {.stream = record.stream, .event = record.event};
}

program::WaitOp convert(const sim::WaitOp& wait) {
  return {.stream = wait.stream, .event = wait.event};
}

program::SyncOp convert(const sim::SyncOp& sync) {
  return {.stream = sync.stream, .event = sync.event, .device = sync.device};
}

program::LockOp convert(const sim::LockOp& lock) {
  return {.mutex = lock.mutex};
}

program::UnlockOp convert(const sim::UnlockOp& unlock) {
  return {.mutex = unlock.mutex};
}

program::SetOp convert(const sim::SetOp& set) {
  return {.flag = set.flag};
}

program::AwaitOp convert(const sim::AwaitOp& await) {
  return {.flag = await.flag};
}

program::BarrierOp convert(const sim::BarrierOp& barrier) {
  return {.name = barrier.name, .ranks = barrier.ranks};
}

program::SendOp convert(const sim::SendOp& send) {
  return {.to = send.to, .tag = send.tag, .lost = send.lost};
}

program::RecvOp convert(const sim::RecvOp& recv) {
  return {.from = recv.from, .tag = recv.tag};
}

program::SleepOp convert(const sim::SleepOp& sleep) {
  return {.us = sleep.us};
}

std::vector<program::Operation> convert_all(const std::vector<sim::Operation>& operations);

// NOLINTNEXTLINE(misc-no-recursion): a tree is walked, as deep as the program nests repeats.
program::RepeatOp convert(const sim::RepeatOp& repeat) {
  return {.times = repeat.times, .body = convert_all(repeat.body)};
}

// NOLINTNEXTLINE(misc-no-recursion): as convert of a repeat.
std::vector<program::Operation> convert_all(const std::vector<sim::Operation>& operations) {
  std::vector<program::Operation> converted;
  converted.reserve(operations.size());
  for (const sim::Operation& operation : operations) {
    std::visit([&](const auto& one) { converted.push_back({convert(one)}); }, operation.what);
  }
  return converted;
}

}  // namespace

gpu::program::Program gpu_program(const sim::Program& program) {
  gpu::program::Program converted{.ranks = program.ranks,
                                  .max_connections = program.max_connections,
                                  .copy_bandwidth_gb_per_s = program.copy_bandwidth_gb_per_s,
                                  .run_ms = program.run_ms};
  converted.threads.reserve(program.threads.size());
  for (const sim::HostThread& thread : program.threads) {
    converted.threads.push_back(
        {.rank = thread.rank, .name = thread.name, .operations = convert_all(thread.operations)});
  }
  return converted;
}

}  // namespace eplb::cli
