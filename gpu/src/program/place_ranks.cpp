#include "place_ranks.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace eplb::gpu::program {
namespace {

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

Result<void> check_kernels(const Script& script, const GpuRoom& room) {
  std::string problems;
  for (std::size_t index = 0; index < script.kernels.size(); ++index) {
    const Kernel& kernel = script.kernels[index];
    const std::int64_t resident = std::int64_t{room.ctas_per_sm[index]} * room.sm_count;
    const bool must_be_resident = kernel.kind != KernelKind::kPlain;
    if (resident == 0 || (must_be_resident && resident < kernel.ctas)) {
      problems += (problems.empty() ? "" : "; ") + std::string("kernel ") + kernel.name + ": " +
                  std::to_string(kernel.ctas) + " CTAs of " + std::to_string(kernel.threads) +
                  " threads and " + std::to_string(kernel.smem_kb) + " KB, of which " +
                  std::to_string(resident) + " can be resident on this GPU";
    }
  }
  if (!problems.empty()) {
    return fail(ErrorCode::kUnsupported, std::move(problems));
  }
  return {};
}

/// SMs that a rank's streams can take at once.
std::int64_t demand_of(const Script& script, const GpuRoom& room, std::int32_t rank) {
  std::vector<std::int64_t> of_stream(script.streams.size(), 0);
  for (const ScriptThread& thread : script.threads) {
    for (const Instruction& instruction : thread.code) {
      if (thread.rank == rank && instruction.code == Code::kLaunch) {
        const Kernel& kernel = script.kernels[at(instruction.object)];
        const std::int64_t per_sm = room.ctas_per_sm[at(instruction.object)];
        const std::int64_t sms =
            std::min<std::int64_t>((kernel.ctas + per_sm - 1) / per_sm, room.sm_count);
        of_stream[at(instruction.stream)] = std::max(of_stream[at(instruction.stream)], sms);
      }
    }
  }
  std::int64_t sum = 0;
  for (const std::int64_t sms : of_stream) {
    sum += sms;
  }
  return sum;
}

}  // namespace

Result<std::vector<std::int32_t>> place_ranks(const Script& script, const GpuRoom& room) {
  if (Result<void> runs = check_kernels(script, room); !runs) {
    return tl::unexpected(std::move(runs).error());
  }
  if (room.device_count < 1) {
    return fail(ErrorCode::kUnsupported, "needs a GPU, and there is none");
  }
  std::vector<std::int64_t> demands(at(room.device_count), 0);
  std::vector<std::int32_t> devices;
  devices.reserve(at(script.ranks));
  for (std::int32_t rank = 0; rank < script.ranks; ++rank) {
    devices.push_back(rank % room.device_count);
    demands[at(devices.back())] += demand_of(script, room, rank);
  }
  const std::int64_t most = *std::max_element(demands.begin(), demands.end());
  if (script.ranks > room.device_count && most > room.sm_count) {
    return fail(ErrorCode::kUnsupported,
                "needs " + std::to_string(script.ranks) + " GPUs, one a rank, and there are " +
                    std::to_string(room.device_count) + ": the kernels of ranks that share one " +
                    "can take " + std::to_string(most) + " SMs at once, and it has " +
                    std::to_string(room.sm_count));
  }
  return devices;
}

}  // namespace eplb::gpu::program
