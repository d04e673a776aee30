#pragma once

#include "eplb/sim/options.hpp"
#include "eplb/sim/program/program.hpp"
#include "reading.hpp"
#include "section.hpp"

namespace eplb::config {

/// Reads the section `program`, on GPUs of `hardware`, and reports all that keeps it from running.
[[nodiscard]] sim::Program read_program(const Section& section,
                                        const sim::HardwareOptions& hardware, Reading& reading);

}  // namespace eplb::config
