#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "eplb/cli/run.hpp"

namespace eplb::test {

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
};

/// Runs the program `eplb` in this process.
[[nodiscard]] inline Outcome run_eplb(const std::vector<std::string>& arguments) {
  std::ostringstream out;
  std::ostringstream err;
  const int code = cli::run(arguments, {.out = out, .err = err});
  return {code, out.str(), err.str()};
}

}  // namespace eplb::test
