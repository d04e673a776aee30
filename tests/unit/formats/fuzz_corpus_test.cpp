// Goal: what fuzzing once explored stays right in every build, not only under libFuzzer. Method:
// each text of the corpora, one for each kind of answer, against the fuzzers' own properties.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "../../fuzz/format_properties.hpp"
#include "temp_folder.hpp"

namespace eplb::fuzz {
namespace {

/// Calls `holds` with every text of a corpus; the number of texts.
template <typename Property>
int replay(std::string_view corpus, const Property& holds) {
  const auto folder = std::filesystem::path(EPLB_SOURCE_DIR) / "tests/fuzz/corpus" / corpus;
  int text_count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string file = entry.path().filename().string();
    CAPTURE(file);
    CHECK(holds(test::read_file(entry.path())));
    ++text_count;
  }
  return text_count;
}

TEST_CASE("the corpora of loads, domains and placements hold what the fuzzers check") {
  CHECK(replay("loads", [](const std::string& text) {
          return loads_hold(text) && domains_hold(text);
        }) >= 50);
  CHECK(replay("placements", placements_hold) >= 10);
}

}  // namespace
}  // namespace eplb::fuzz
