#pragma once

#include "eplb/core/digest.hpp"
#include "eplb/sim/options.hpp"
#include "reading.hpp"
#include "section.hpp"

namespace eplb::config {

/// Reads the section `workload` and the file of counts or domains that it names.
[[nodiscard]] sim::WorkloadOptions read_workload(const Section& section, Reading& reading);

/// Counts must have the model's layers and experts, and every layer must have tokens.
void check_counts(const sim::WorkloadOptions& workload, const ModelOptions& model,
                  Reading& reading);

/// Adds the content of the counts, which the canonical text only names.
void add_counts(const sim::WorkloadOptions& workload, Digest& digest);

}  // namespace eplb::config
