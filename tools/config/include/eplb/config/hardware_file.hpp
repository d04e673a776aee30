#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "eplb/config/config.hpp"
#include "eplb/config/diagnostic.hpp"
#include "eplb/sim/options.hpp"

namespace eplb::config {

/// A file of configs/hardware with what it says to people.
struct HardwareFile {
  std::filesystem::path path;
  std::string heading = {};  ///< Comment lines before the first key, as they stand.
  sim::HardwareOptions options = {};
  std::string calibration = {};  ///< How figures were fitted; empty if none were.
  std::map<std::string, std::string> sources = {};  ///< By key.
};

using HardwareResult = tl::expected<HardwareFile, std::vector<Diagnostic>>;

/// Reads hardware by its name, sought in the directories of `options`, or by its path, which is
/// relative to the current directory. Overrides do not apply.
[[nodiscard]] HardwareResult load_hardware(const std::string& name, const LoadOptions& options);

/// Names of all hardware that can be found, sorted.
[[nodiscard]] std::vector<std::string> hardware_names(const LoadOptions& options);

/// Whether a table's `device`, as "gb200", means the device that a file names, as "NVIDIA GB200":
/// one of its words, whatever the case.
[[nodiscard]] bool names_device(std::string_view device, std::string_view device_of_file);

/// The file again, keys in the order of the schema, each text wrapped. Loads as what it was.
[[nodiscard]] std::string hardware_yaml(const HardwareFile& file);

}  // namespace eplb::config
