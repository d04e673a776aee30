#include "hardware_lookup.hpp"

#include <utility>

namespace eplb::cli {

Result<config::HardwareFile> hardware_file(const std::string& name,
                                           const config::LoadOptions& options) {
  auto file = config::load_hardware(name, options);
  if (file) {
    return *std::move(file);
  }
  return fail(ErrorCode::kInvalidConfig, to_string(file.error()));
}

Result<std::map<std::string, config::HardwareFile>> hardware_of_devices(
    const std::set<std::string>& devices, const config::LoadOptions& options) {
  std::map<std::string, config::HardwareFile> files;
  for (const std::string& name : config::hardware_names(options)) {
    auto file = hardware_file(name, options);
    if (!file) {
      return tl::unexpected(std::move(file).error());
    }
    for (const std::string& device : devices) {
      if (config::names_device(device, file->options.device)) {
        files.emplace(device, *file);
      }
    }
  }
  return files;
}

}  // namespace eplb::cli
