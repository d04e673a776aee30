#pragma once

#include <map>
#include <set>
#include <string>

#include "eplb/config/hardware_file.hpp"
#include "eplb/core/result.hpp"

namespace eplb::cli {

/// Hardware by its name or path; a failure's message is complete.
[[nodiscard]] Result<config::HardwareFile> hardware_file(const std::string& name,
                                                         const config::LoadOptions& options);

/// The hardware file of each device, as a table names devices; devices that have none are left out.
[[nodiscard]] Result<std::map<std::string, config::HardwareFile>> hardware_of_devices(
    const std::set<std::string>& devices, const config::LoadOptions& options);

}  // namespace eplb::cli
