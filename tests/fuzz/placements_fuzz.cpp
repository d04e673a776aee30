// Goal: no text makes the reader of placements crash, hang or hand out an invalid placement.
// Method: libFuzzer.
#include <cstddef>
#include <cstdint>
#include <string>

#include "eplb/core/assert.hpp"
#include "format_properties.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  EPLB_ASSERT(eplb::fuzz::placements_hold(std::string(data, data + size)));
  return 0;
}
