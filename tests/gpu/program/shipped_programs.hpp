#pragma once

#include <string>
#include <vector>

#include "eplb/gpu/program/program.hpp"

namespace eplb::gpu::test {

/// A program of configs/scenarios/hangs, in code, since a GPU machine may have no reader of YAML. A
/// test of the host holds each to its file.
struct ShippedProgram {
  std::string name;  ///< Of the file.
  /// The simulator's verdict: a kind of hang, or empty.
  std::string predicted;
  program::Program program;
};

/// Those of two ranks.
[[nodiscard]] std::vector<ShippedProgram> shipped_programs();

}  // namespace eplb::gpu::test
