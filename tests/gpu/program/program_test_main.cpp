// Goal: a program hangs on real GPUs where the simulator says that it does, for the reason that it
// gives, and nowhere else; and whatever hangs ends at its limit. Method: the shipped programs, in
// code; the two orders of the spin barrier many times over, with every link of the explanation.
//
// eplb_gpu_program_test [--device-count N] [--repeats N] [--limit-ms N] [--limit-scale N]
// Ends with 0 (all as predicted), 1 (a difference, or the device failed), 2 (usage) or 77 (no
// device). On one GPU it runs what can share it, and sees that the rest is refused.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "checks.hpp"
#include "eplb/gpu/error.hpp"
#include "eplb/gpu/program/gang.hpp"
#include "eplb/gpu/program/run_program.hpp"
#include "eplb/gpu/stream.hpp"
#include "shipped_programs.hpp"

namespace eplb::gpu::test {
namespace {

using program::KernelOutcome;
using program::ProgramOutcome;
using program::RunOptions;
using program::Wait;

constexpr int kSkipped = 77;
constexpr int kUsage = 2;

/// What the programs order by some 30 us stays in order when threads start 1 ms apart.
constexpr double kTimeScale = 50;

struct Options {
  int device_count = 0;  ///< 0: all.
  int repeat_count = 20;
  int limit_ms = 400;
  int limit_scale = 1;
  bool is_valid = true;
};

Options parse(std::span<char*> arguments) {
  Options options;
  for (std::size_t index = 0; index < arguments.size(); index += 2) {
    const std::string_view key = arguments[index];
    const std::string_view value = index + 1 < arguments.size() ? arguments[index + 1] : "";
    int number = 0;
    const std::from_chars_result read =
        std::from_chars(value.data(), value.data() + value.size(), number);
    options.is_valid &= read.ec == std::errc{} && read.ptr == value.data() + value.size();
    if (key == "--device-count") {
      options.device_count = number;
    } else if (key == "--repeats") {
      options.repeat_count = number;
    } else if (key == "--limit-ms") {
      options.limit_ms = number;
    } else if (key == "--limit-scale") {
      options.limit_scale = number;
    } else {
      options.is_valid = false;
    }
  }
  options.is_valid &= options.repeat_count > 0 && options.device_count >= 0;
  return options;
}

std::string verdict_of(const ProgramOutcome& outcome) {
  return outcome.hang.has_value() ? std::string(to_string(outcome.hang->kind)) : "";
}

void tell(const ProgramOutcome& outcome) {
  if (outcome.hang.has_value()) {
    std::printf("  HANG at %.3f ms: %s\n", static_cast<double>(outcome.hang->at_ns) * 1e-6,
                verdict_of(outcome).c_str());
    for (const Wait& wait : outcome.hang->explanation) {
      std::printf("    rank %d: %s%s%s waits for %s\n", wait.rank, wait.operation.c_str(),
                  wait.holds.empty() ? "" : " holds ", wait.holds.c_str(), wait.waits_for.c_str());
    }
  }
  constexpr std::size_t kKernelsMax = 12;
  for (std::size_t index = 0; index < std::min(outcome.kernels.size(), kKernelsMax); ++index) {
    const KernelOutcome& kernel = outcome.kernels[index];
    const auto ms = [](std::int64_t ns) { return ns < 0 ? -1.0 : static_cast<double>(ns) * 1e-6; };
    std::printf("    rank %d: %s issued %.3f begun %.3f resident %.3f ended %.3f ms%s%s%s%s\n",
                kernel.rank, kernel.operation.c_str(), ms(kernel.issued_ns), ms(kernel.begun_ns),
                ms(kernel.resident_ns), ms(kernel.ended_ns),
                kernel.ran_out ? ", ran out with resident CTAs: " : "",
                kernel.ran_out ? std::to_string(kernel.resident_ctas).c_str() : "",
                kernel.was_kept_out ? ", kept out" : "",
                kernel.waited_for.empty() ? "" : (", waited for " + kernel.waited_for).c_str());
  }
  for (const std::string& note : outcome.notes) {
    std::printf("    note: %s\n", note.c_str());
  }
}

const KernelOutcome& kernel_of(const ProgramOutcome& outcome, std::int32_t rank,
                               std::string_view name) {
  const auto found =
      std::find_if(outcome.kernels.begin(), outcome.kernels.end(), [&](const KernelOutcome& one) {
        return one.rank == rank && one.operation.find(name) != std::string::npos;
      });
  if (found == outcome.kernels.end()) {
    throw std::runtime_error("no kernel " + std::string(name) + " on rank " + std::to_string(rank));
  }
  return *found;
}

bool names(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// Both kernels that spin run out, and each names what the other keeps out.
void check_spin_barrier_hang(Checks& checks, const ProgramOutcome& outcome) {
  const std::vector<Wait> expected{
      {.rank = 0,
       .operation = "kernel spin-barrier (rendezvous, 1 CTAs) on stream barrier",
       .waits_for = "its peer on rank 1, which has not started: kernel spin-barrier (rendezvous, 1 "
                    "CTAs) on stream barrier"},
      {.rank = 1,
       .operation = "kernel spin-barrier (rendezvous, 1 CTAs) on stream barrier",
       .waits_for = "room on the SMs that kernel cooperative (gang rendezvous, 132 CTAs) on stream "
                    "forward holds"},
      {.rank = 1,
       .operation = "kernel cooperative (gang rendezvous, 132 CTAs) on stream forward",
       .waits_for = "its peer on rank 0, which has not started: kernel cooperative (gang "
                    "rendezvous, 132 CTAs) on stream forward"},
      {.rank = 0,
       .operation = "kernel cooperative (gang rendezvous, 132 CTAs) on stream forward",
       .waits_for = "room on the SMs that kernel spin-barrier (rendezvous, 1 CTAs) on stream "
                    "barrier holds"}};
  checks.expect(outcome.hang.has_value(), "the orders that differ hang");
  if (!outcome.hang.has_value()) {
    return;
  }
  const std::vector<Wait>& links = outcome.hang->explanation;
  checks.expect(links.size() == expected.size(), "the circle has four links");
  for (std::size_t link = 0; link < std::min(links.size(), expected.size()); ++link) {
    checks.expect(links[link].rank == expected[link].rank &&
                      links[link].operation == expected[link].operation &&
                      links[link].waits_for == expected[link].waits_for,
                  "link " + std::to_string(link) + " is the simulator's: " + links[link].operation +
                      " waits for " + links[link].waits_for);
  }
  const KernelOutcome& barrier = kernel_of(outcome, 0, "spin-barrier");
  const KernelOutcome& cooperative = kernel_of(outcome, 1, "cooperative");
  checks.expect(barrier.ran_out && names(barrier.waited_for, "rank 1"),
                "rank 0's barrier ran out, waiting for rank 1");
  checks.expect(cooperative.ran_out && names(cooperative.waited_for, "rank 0"),
                "rank 1's cooperative kernel ran out, waiting for rank 0");
  checks.expect(kernel_of(outcome, 0, "cooperative").resident_ns < 0 &&
                    kernel_of(outcome, 1, "spin-barrier").resident_ns < 0,
                "what they wait for never became resident");
}

void check_finished(Checks& checks, const ProgramOutcome& outcome, const std::string& name) {
  checks.expect(!outcome.hang.has_value() && !outcome.was_left, name + " finishes");
  for (const KernelOutcome& kernel : outcome.kernels) {
    checks.expect(!kernel.ran_out && !kernel.was_kept_out && kernel.begun_ns >= 0 &&
                      kernel.ended_ns >= kernel.begun_ns,
                  name + ": " + kernel.operation + " begins and ends");
  }
}

/// An event frees both of its kernels at once, so that the GPU is free to take either first.
bool is_judged(const ShippedProgram& shipped) {
  return shipped.name != "shared-event-as-baton";
}

void run_shipped(Checks& checks, const ShippedProgram& shipped, const RunOptions& options,
                 int repeat_count) {
  int hang_count = 0;
  for (int repeat = 0; repeat < repeat_count; ++repeat) {
    const Result<ProgramOutcome> outcome = program::run_program(shipped.program, options);
    if (!outcome.has_value()) {
      const bool is_refused = options.devices.size() < 2 &&
                              outcome.error().code == ErrorCode::kUnsupported &&
                              names(outcome.error().message, "needs 2 GPUs");
      checks.expect(is_refused, shipped.name + ": " + outcome.error().message);
      std::printf("%-34s not run: %s\n", shipped.name.c_str(), outcome.error().message.c_str());
      return;
    }
    hang_count += outcome->hang.has_value() ? 1 : 0;
    const bool agrees = verdict_of(*outcome) == shipped.predicted;
    if (repeat == 0 || !agrees) {
      std::printf("%-34s predicted %s, measured %s, after %.3f ms\n", shipped.name.c_str(),
                  shipped.predicted.empty() ? "no hang" : shipped.predicted.c_str(),
                  outcome->hang.has_value() ? verdict_of(*outcome).c_str() : "no hang",
                  static_cast<double>(outcome->run_ns) * 1e-6);
      tell(*outcome);
    }
    if (is_judged(shipped)) {
      checks.expect(agrees, shipped.name + " does what was predicted");
    }
    if (shipped.predicted.empty()) {
      check_finished(checks, *outcome, shipped.name);
    }
    if (shipped.name == "two-gpus-spin-barrier") {
      check_spin_barrier_hang(checks, *outcome);
    }
  }
  std::printf("%-34s %d of %d runs hang\n", shipped.name.c_str(), hang_count, repeat_count);
  std::fflush(stdout);
}

void test_gang(Checks& checks, int limit_ms, int limit_scale) {
  constexpr int kLaunches = 100;
  const std::int64_t limit_ns = std::int64_t{limit_ms} * limit_scale * 1'000'000;
  const Stream stream;
  const program::Gang gang(
      {.smem_kb = 200, .barrier_count = 3, .work_ns = 1000, .limit_ns = limit_ns});
  for (int launch = 0; launch < kLaunches; ++launch) {
    gang.launch(stream.get());
  }
  stream.synchronize();
  const program::GangReport report = gang.report();
  checks.expect(report.ended_count == kLaunches && report.ran_out == 0,
                "a gang on every SM passes its barriers in each of 100 launches, passed in " +
                    std::to_string(report.ended_count));
  checks.expect(program::launch_gang({.ctas = 2, .limit_ns = limit_ns}, stream.get()),
                "a gang of two passes its barrier");
  bool thrown = false;
  try {
    const program::Gang too_large({.ctas = gang.cta_count() + 1, .smem_kb = 200});
  } catch (const std::invalid_argument&) {
    thrown = true;
  }
  checks.expect(thrown, "a gang that cannot be resident together is refused");
  std::printf("gang of %d CTAs: %lld of %d launches passed all barriers\n", gang.cta_count(),
              static_cast<long long>(report.ended_count), kLaunches);
}

/// What can never run is refused before it does anything.
void test_refusals(Checks& checks, const RunOptions& options) {
  const auto code_of = [&](const program::LaunchOp& launch) {
    const program::Program wrong{.threads = {{.operations = {{launch}}}}};
    const Result<ProgramOutcome> outcome = program::run_program(wrong, options);
    return outcome.has_value() ? std::string("none") : std::string(to_string(outcome.error().code));
  };
  const std::string unsupported(to_string(ErrorCode::kUnsupported));
  const std::string invalid(to_string(ErrorCode::kInvalidArgument));
  checks.expect(code_of({.stream = "s", .smem_kb = 1000}) == unsupported,
                "a CTA of 1000 KB is refused");
  checks.expect(
      code_of({.stream = "s", .kind = program::KernelKind::kGang, .ctas = 100'000}) == unsupported,
      "a gang larger than the GPU is refused");
  checks.expect(code_of({.stream = "s", .registers = 200}) == invalid,
                "registers that our kernel does not have are refused");
  checks.expect(code_of({.stream = ""}) == invalid, "a launch without a stream is refused");
  checks.expect(code_of({.stream = "s", .us = 1e6}) == invalid,
                "a kernel longer than half of the limit is refused");
}

int run_all(const Options& options) {
  int device_count = 0;
  const cudaError_t status = cudaGetDeviceCount(&device_count);
  if (status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver) {
    std::printf("skipped: no device (%s)\n", cudaGetErrorString(status));
    return kSkipped;
  }
  EPLB_CUDA(status);
  const int used =
      options.device_count == 0 ? device_count : std::min(options.device_count, device_count);
  RunOptions run{
      .limit_ms = options.limit_ms, .limit_scale = options.limit_scale, .time_scale = kTimeScale};
  for (int device = 0; device < used; ++device) {
    run.devices.push_back(device);
  }
  cudaDeviceProp properties{};
  EPLB_CUDA(cudaGetDeviceProperties(&properties, 0));
  std::printf("%d x %s, %d multiprocessors, limit %d ms x %d\n", used, properties.name,
              properties.multiProcessorCount, options.limit_ms, options.limit_scale);
  Checks checks;
  test_gang(checks, options.limit_ms, options.limit_scale);
  test_refusals(checks, run);
  for (const ShippedProgram& shipped : shipped_programs()) {
    const bool is_measured = shipped.name.find("two-gpus-spin-barrier") == 0;
    run_shipped(checks, shipped, run,
                is_measured ? options.repeat_count : std::min(options.repeat_count, 3));
  }
  const bool passed = checks.failure_count() == 0;
  std::printf("%s: %lld checks, %lld failed\n", passed ? "PASSED" : "FAILED",
              static_cast<long long>(checks.check_count()),
              static_cast<long long>(checks.failure_count()));
  return passed ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace eplb::gpu::test

int main(int argc, char** argv) {
  const auto options =
      eplb::gpu::test::parse(std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
  if (!options.is_valid) {
    std::fprintf(stderr,
                 "usage: eplb_gpu_program_test [--device-count N] [--repeats N] [--limit-ms N] "
                 "[--limit-scale N]\n");
    return eplb::gpu::test::kUsage;
  }
  try {
    return eplb::gpu::test::run_all(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return EXIT_FAILURE;
  }
}
