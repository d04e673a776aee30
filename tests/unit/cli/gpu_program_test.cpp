// Goal: what GPUs run is what the simulator predicts. Method: every operation through the
// conversion, field by field; and each program that the GPUs' test has in code against its file,
// with the simulator's verdict on it.
#include "gpu_program.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "../../gpu/program/shipped_programs.hpp"
#include "eplb/config/config.hpp"
#include "eplb/sim/program/program_run.hpp"

namespace eplb {
namespace {

namespace program = gpu::program;

sim::Program program_of(const std::string& name) {
  const config::LoadResult loaded = config::load_config(
      EPLB_SOURCE_DIR "/configs/scenarios/hangs/" + name + ".yaml",
      {.config_dirs = {EPLB_SOURCE_DIR "/configs"}, .overrides = {}, .policy_names = {}});
  REQUIRE(loaded.has_value());
  return *loaded->program;
}

TEST_CASE("gpu program: every operation keeps all that it says") {
  const sim::LaunchOp launch{.stream = "s",
                             .kind = sim::KernelKind::kGang,
                             .name = "n",
                             .ctas = 3,
                             .threads = 64,
                             .registers = 24,
                             .smem_kb = 7,
                             .us = 1.5,
                             .group = "g",
                             .ranks = {1, 2},
                             .exclusive = "x"};
  const std::vector<sim::Operation> body{
      {launch},
      {sim::CopyOp{.stream = "s", .us = 2.5, .bytes = 77, .to = 1}},
      {sim::RecordOp{.stream = "s", .event = "e"}},
      {sim::WaitOp{.stream = "s", .event = "e"}},
      {sim::SyncOp{.stream = "s", .event = "e", .device = true}},
      {sim::LockOp{.mutex = "m"}},
      {sim::UnlockOp{.mutex = "m"}},
      {sim::SetOp{.flag = "f"}},
      {sim::AwaitOp{.flag = "f"}},
      {sim::BarrierOp{.name = "b", .ranks = {0, 2}}},
      {sim::SendOp{.to = 2, .tag = "t", .lost = true}},
      {sim::RecvOp{.from = 1, .tag = "t"}},
      {sim::SleepOp{.us = 4}}};
  sim::Program source{.ranks = 3};
  source.max_connections = 5;
  source.copy_bandwidth_gb_per_s = 11;
  source.run_ms = 13;
  source.threads = {
      {.rank = 2, .name = "worker", .operations = {{sim::RepeatOp{.times = 9, .body = body}}}}};

  const program::Program converted = cli::gpu_program(source);

  CHECK(converted.ranks == 3);
  CHECK(converted.max_connections == 5);
  CHECK(converted.copy_bandwidth_gb_per_s == 11);
  CHECK(converted.run_ms == 13);
  REQUIRE(converted.threads.size() == 1);
  CHECK(converted.threads[0].rank == 2);
  CHECK(converted.threads[0].name == "worker");
  const std::vector<program::Operation> expected{
      {program::LaunchOp{.stream = "s",
                         .kind = program::KernelKind::kGang,
                         .name = "n",
                         .ctas = 3,
                         .threads = 64,
                         .registers = 24,
                         .smem_kb = 7,
                         .us = 1.5,
                         .group = "g",
                         .ranks = {1, 2},
                         .exclusive = "x"}},
      {program::CopyOp{.stream = "s", .us = 2.5, .bytes = 77, .to = 1}},
      {program::RecordOp{.stream = "s", .event = "e"}},
      {program::WaitOp{.stream = "s", .event = "e"}},
      {program::SyncOp{.stream = "s", .event = "e", .device = true}},
      {program::LockOp{.mutex = "m"}},
      {program::UnlockOp{.mutex = "m"}},
      {program::SetOp{.flag = "f"}},
      {program::AwaitOp{.flag = "f"}},
      {program::BarrierOp{.name = "b", .ranks = {0, 2}}},
      {program::SendOp{.to = 2, .tag = "t", .lost = true}},
      {program::RecvOp{.from = 1, .tag = "t"}},
      {program::SleepOp{.us = 4}}};
  REQUIRE(converted.threads[0].operations.size() == 1);
  const program::Operation repeat{program::RepeatOp{.times = 9, .body = expected}};
  CHECK(converted.threads[0].operations[0] == repeat);
}

TEST_CASE("gpu program: every kind of kernel keeps its kind") {
  const auto kind_of = [](sim::KernelKind kind) {
    const sim::Program source{
        .threads = {{.operations = {{sim::LaunchOp{.stream = "s", .kind = kind}}}}}};
    const program::Program converted = cli::gpu_program(source);
    return std::get<program::LaunchOp>(converted.threads[0].operations[0].what).kind;
  };
  CHECK(kind_of(sim::KernelKind::kPlain) == program::KernelKind::kPlain);
  CHECK(kind_of(sim::KernelKind::kGang) == program::KernelKind::kGang);
  CHECK(kind_of(sim::KernelKind::kRendezvous) == program::KernelKind::kRendezvous);
  CHECK(kind_of(sim::KernelKind::kGangRendezvous) == program::KernelKind::kGangRendezvous);
}

TEST_CASE(
    "gpu program: each program of the GPUs' test is that of its file, and so is its verdict") {
  std::set<std::string> names;
  for (const gpu::test::ShippedProgram& shipped : gpu::test::shipped_programs()) {
    CAPTURE(shipped.name);
    names.insert(shipped.name);
    const sim::Program source = program_of(shipped.name);
    CHECK(cli::gpu_program(source) == shipped.program);
    const Result<sim::ProgramResult> result = sim::run_program(source, 1);
    REQUIRE(result.has_value());
    CHECK((result->hang.has_value() ? sim::to_string(result->hang->kind) : "") ==
          shipped.predicted);
  }
  CHECK(names.size() == 24);
}

}  // namespace
}  // namespace eplb
