// Goal: no text makes the reader of scenarios crash, hang, or hand out one that is not whole.
// Method: libFuzzer; a line that starts with #! is an override.
#include <cstddef>
#include <cstdint>
#include <string>

#include "config_properties.hpp"
#include "eplb/core/assert.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): the name is that which libFuzzer calls.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  EPLB_ASSERT(eplb::fuzz::config_holds(std::string(data, data + size), EPLB_CONFIGS_DIR));
  return 0;
}
