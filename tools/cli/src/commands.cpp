#include <array>

#include "calibrate_command.hpp"
#include "check_command.hpp"
#include "eplb/cli/command.hpp"
#include "fuzz_command.hpp"
#include "plan_command.hpp"
#include "run_command.hpp"
#include "score_command.hpp"
#include "search_command.hpp"
#include "sim_command.hpp"
#include "validate_command.hpp"

namespace eplb::cli {

std::span<const Command> commands() {
  static constexpr std::array kCommands{
      Command{"sim", "serve a configuration in the simulator: what is EPLB worth?", &run_sim},
      Command{"run", "the same configuration on real GPUs", &run_run},
      Command{"check", "a configuration as it is understood, without running it", &run_check},
      Command{"plan", "one placement of experts on ranks, from recorded loads", &run_plan},
      Command{"score", "policies judged online on recorded traces", &run_score},
      Command{"search", "settings that nothing beats, judged in the simulator", &run_search},
      Command{"validate", "published figures and measured tables against predictions",
              &run_validate},
      Command{"calibrate", "a hardware file from measured times of the expert kernel",
              &run_calibrate},
      Command{"fuzz", "the balancer itself in simulated worlds with faults", &run_fuzz},
      Command{"replay", "one world of fuzz again", &run_replay},
  };
  return kCommands;
}

}  // namespace eplb::cli
