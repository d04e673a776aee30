#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "eplb/core/load.hpp"
#include "eplb/core/result.hpp"

namespace eplb::formats {

/// Tokens that each logical expert got from one kind of text.
struct DomainLoads {
  std::string name;
  RealLoadMatrix counts;  ///< [layers, experts]
};

/// Reads `{"domains": {"c4": [[...], ...], ...}}`, in the file's order; other keys are ignored. All
/// domains are of one shape. Counts and errors as for parse_loads, the sum for each domain.
[[nodiscard]] Result<std::vector<DomainLoads>> parse_domain_loads(std::string_view text,
                                                                  std::string_view source_name);

/// As parse_domain_loads, from a file or a pipe.
[[nodiscard]] Result<std::vector<DomainLoads>> read_domain_loads(const std::filesystem::path& path);

}  // namespace eplb::formats
