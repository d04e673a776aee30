#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "eplb/core/result.hpp"
#include "eplb/group/descriptor.hpp"

namespace eplb::cli {

/// A program that has been started, in a process group of its own so that what it starts can be
/// ended with it, and our ends of its three pipes, none of which blocks. Whoever has it ends it.
struct ChildProcess {
  pid_t process = -1;
  group::Descriptor input;  ///< What is written here is its standard input, and so on.
  group::Descriptor output;
  group::Descriptor error;
};

/// The program by its path, or by its name where PATH has it, and its arguments; at least one word.
/// kInvalidArgument if it cannot be started, kResourceExhausted if there are no pipes for it.
[[nodiscard]] Result<ChildProcess> start_child(const std::vector<std::string>& words);

}  // namespace eplb::cli
