#pragma once

#include "eplb/core/result.hpp"
#include "eplb/group/descriptor.hpp"

namespace eplb::group {

struct Pipe {
  Descriptor read_end;
  Descriptor write_end;
};

/// Both ends close with this program's own exec; whoever starts a child hands it its end by dup2.
/// kResourceExhausted.
[[nodiscard]] Result<Pipe> make_pipe();

}  // namespace eplb::group
