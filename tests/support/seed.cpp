#include "seed.hpp"

#include <cstdlib>
#include <string>

namespace eplb::test {

std::uint64_t run_seed() {
  const char* text = std::getenv("EPLB_SEED");  // NOLINT(concurrency-mt-unsafe): before any thread
  return text != nullptr ? std::strtoull(text, nullptr, 0) : 1;
}

const char* replay_hint(std::uint64_t seed) {
  static thread_local std::string hint;
  hint = "EPLB_SEED=" + std::to_string(seed) + "; replay: EPLB_SEED=" + std::to_string(seed) +
         " ctest --output-on-failure -R '<this case>'";
  return hint.c_str();
}

}  // namespace eplb::test
