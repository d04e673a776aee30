#include "run_command.hpp"

#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "config_arguments.hpp"
#if defined(EPLB_HAS_GPU)
#include "gpu_run.hpp"
#endif

namespace eplb::cli {
namespace {

constexpr std::string_view kName = "run";

CommandSyntax syntax() {
  std::vector<OptionSpec> options = config_options();
  options.push_back({.name = "verify",
                     .value_name = "HOW",
                     .help = "what is proved of every slot after each rearrangement: served (only "
                             "what forwards check as they serve), sampled (default), all (every "
                             "byte, and each balancer's calls replayed)"});
  return {
      .name = kName,
      .usage = "CONFIG [options]",
      .about =
          "Serves decode steps on this machine's GPUs: the configuration that `eplb sim` "
          "simulates, with real\nkernels, weights and migrations, and stand-ins for the model's "
          "own kernels. One process a GPU: started\nby torchrun, mpirun or srun, or, without "
          "them, by this command itself. Exit code 3 if it does not\nfit this machine.",
      .example =
          "  eplb run configs/h200-ep2.yaml\n"
          "  torchrun --nproc-per-node 2 --no-python eplb run configs/h200-ep2.yaml\n"
          "  eplb run configs/h200-ep2.yaml --verify all --json out.json",
      .positionals = {"CONFIG"},
      .options = std::move(options)};
}

}  // namespace

ExitCode run_run(std::span<const std::string> arguments, const Streams& streams) {
  auto run = begin_config_run(syntax(), arguments, streams);
  if (!run) {
    return run.error();
  }
#if defined(EPLB_HAS_GPU)
  return run_on_gpus(*run, arguments, streams);
#else
  if (run->values.report_problems(streams)) {
    return ExitCode::kUsage;
  }
  print_error(streams, kName,
              "this eplb was built without CUDA, which running needs: build it where nvcc is, with "
              "-DEPLB_GPU=ON");
  return ExitCode::kNotPossibleHere;
#endif
}

}  // namespace eplb::cli
