// Goal: no text makes the readers of loads and of domains crash, hang or hand out what they promise
// not to. Method: libFuzzer, each input to both.
#include <cstddef>
#include <cstdint>
#include <string>

#include "eplb/core/assert.hpp"
#include "format_properties.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  EPLB_ASSERT(eplb::fuzz::loads_hold(text));
  EPLB_ASSERT(eplb::fuzz::domains_hold(text));
  return 0;
}
