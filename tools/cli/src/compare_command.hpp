#pragma once

#include <cstdint>
#include <vector>

#include "config_arguments.hpp"
#include "eplb/cli/command.hpp"
#include "eplb/cli/command_line.hpp"
#include "eplb/core/result.hpp"

namespace eplb::cli {

/// The options of `eplb sim` that ask whether EPLB pays.
[[nodiscard]] std::vector<OptionSpec> compare_options();

/// What a comparison is asked for on the command line.
struct CompareRequest {
  bool wanted = false;
  bool with_sensitivity = false;
  std::int32_t seed_count = 0;
};

/// Reads compare_options; what does not go together is noted with `values`.
[[nodiscard]] CompareRequest read_compare_request(OptionValues& values);

/// Compares, and reports on the standard output or as JSON.
[[nodiscard]] Result<void> run_compare(ConfigRun& run, const CompareRequest& request,
                                       const Streams& streams);

}  // namespace eplb::cli
