// Goal: configs/README.md is the schema's own text. Method: compare; EPLB_UPDATE_GOLDEN=1 rewrites.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "config_text.hpp"
#include "temp_folder.hpp"

namespace eplb::config::test {
namespace {

constexpr const char* kReadme = EPLB_SOURCE_DIR "/configs/README.md";

/// The first line in which two texts differ, of each; empty if they are equal.
std::string first_difference(std::string_view written, std::string_view generated) {
  int line = 1;
  while (written != generated) {
    const std::string_view old_line = written.substr(0, written.find('\n'));
    const std::string_view new_line = generated.substr(0, generated.find('\n'));
    if (old_line != new_line) {
      return "configs/README.md, line " + std::to_string(line) + "\n- " + std::string(old_line) +
             "\n+ " + std::string(new_line) + "\nEPLB_UPDATE_GOLDEN=1 rewrites it.";
    }
    written.remove_prefix(std::min(old_line.size() + 1, written.size()));
    generated.remove_prefix(std::min(new_line.size() + 1, generated.size()));
    ++line;
  }
  return {};
}

TEST_CASE("the reference of all keys is up to date") {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): before any thread
  if (std::getenv("EPLB_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(kReadme, std::ios::binary) << schema_markdown();
  }
  CHECK(first_difference(eplb::test::read_file(kReadme), schema_markdown()) == "");
}

TEST_CASE("a difference is shown by its first line") {
  CHECK(first_difference("a\nb\n", "a\nb\n") == "");
  CHECK(first_difference("a\nb\n", "a\nc\n") ==
        "configs/README.md, line 2\n- b\n+ c\nEPLB_UPDATE_GOLDEN=1 rewrites it.");
  CHECK(first_difference("", "a") ==
        "configs/README.md, line 1\n- \n+ a\nEPLB_UPDATE_GOLDEN=1 rewrites it.");
}

}  // namespace
}  // namespace eplb::config::test
