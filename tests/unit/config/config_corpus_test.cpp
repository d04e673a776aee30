// Goal: what fuzzing once explored stays right in every build, not only under libFuzzer. Method:
// each text of the corpus against the fuzzer's own property.
#include <doctest/doctest.h>

#include <filesystem>

#include "../../fuzz/config_properties.hpp"
#include "temp_folder.hpp"

namespace eplb::fuzz {
namespace {

TEST_CASE("the corpus of scenarios holds what the fuzzer checks") {
  int text_count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(EPLB_SOURCE_DIR "/tests/fuzz/corpus/config")) {
    CAPTURE(entry.path().string());
    CHECK(config_holds(test::read_file(entry.path()), EPLB_SOURCE_DIR "/configs"));
    ++text_count;
  }
  CHECK(text_count >= 50);
}

}  // namespace
}  // namespace eplb::fuzz
