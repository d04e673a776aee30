// Goal: a hardware file can be loaded on its own, found by its device, and written again without
// losing anything. Method: the shipped files, there and back.
#include "eplb/config/hardware_file.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <string>

#include "config_text.hpp"
#include "temp_folder.hpp"

namespace eplb::config::test {
namespace {

LoadOptions shipped() {
  LoadOptions options;
  options.config_dirs = {EPLB_SOURCE_DIR "/configs"};
  return options;
}

TEST_CASE("every shipped file is what is written of it") {
  for (const std::string& name : hardware_names(shipped())) {
    CAPTURE(name);
    const HardwareFile file = load_hardware(name, shipped()).value();
    const eplb::test::TempFolder folder;
    const std::string path = (folder.path() / "again.yaml").string();
    std::ofstream(path) << hardware_yaml(file);
    const HardwareFile again = load_hardware(path, shipped()).value();
    CHECK(hardware_yaml(again) == hardware_yaml(file));
    CHECK(again.heading == file.heading);
    CHECK(again.heading.starts_with("# "));
    CHECK(again.sources == file.sources);
    CHECK(again.calibration == file.calibration);
    CHECK(again.options.hbm_efficiency == file.options.hbm_efficiency);
    CHECK(again.options.device == file.options.device);
  }
}

TEST_CASE("hardware is found by name and refused by name") {
  CHECK(load_hardware("gb200-nvl72", shipped())->options.gpus_per_domain == 72);
  const auto unknown = load_hardware("gb200-nvl7", shipped());
  REQUIRE_FALSE(unknown.has_value());
  CHECK(to_string(unknown.error().front()) ==
        "gb200-nvl7:1:1: error: hardware: unknown hardware \"gb200-nvl7\", did you mean "
        "gb200-nvl72?");
}

TEST_CASE("a table's device is a word of a file's, whatever the case") {
  CHECK(names_device("gb200", "NVIDIA GB200"));
  CHECK(names_device("GB200", "NVIDIA GB200"));
  CHECK_FALSE(names_device("b200", "NVIDIA GB200"));
  CHECK_FALSE(names_device("gb20", "NVIDIA GB200"));
  CHECK_FALSE(names_device("", "NVIDIA GB200"));
}

}  // namespace
}  // namespace eplb::config::test
