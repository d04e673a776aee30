#pragma once

#include <string>

#include "scenario_file.hpp"

namespace eplb::test {

/// The tiny scenario with a search of 8 settings, of which 2 are the same as another and 4 are no
/// legal configuration. `steps` of each run.
[[nodiscard]] inline std::string search_scenario(
    int steps = 60, const std::string& axes =
                        "{policy: [default, robust], redundancy: [1, 2], price: [0.001, 0.1]}") {
  std::string text = kScenario;
  const std::string run = "run: {steps: 60, ";
  text.replace(text.find(run), run.size(), "run: {steps: " + std::to_string(steps) + ", ");
  return text +
         "search:\n"
         "  axes: " +
         axes +
         "\n"
         "  budget: {seeds: 3, confirm_seeds: 2}\n";
}

}  // namespace eplb::test
