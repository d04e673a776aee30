#include <array>

#include "eplb/cli/command.hpp"
#include "plan_command.hpp"

namespace eplb::cli {

std::span<const Command> commands() {
  static constexpr std::array kCommands{
      Command{"plan", "one placement of experts on ranks, from recorded loads", &run_plan},
  };
  return kCommands;
}

}  // namespace eplb::cli
