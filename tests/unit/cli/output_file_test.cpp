// Goal: a result for programs arrives whole or not at all, and what is in its way is found before
// the work. Method: each kind of target in a folder of the test's own.
#include "eplb/cli/output_file.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "temp_folder.hpp"

namespace eplb::cli {
namespace {

using Json = nlohmann::ordered_json;

std::ptrdiff_t file_count(const test::TempFolder& folder) {
  return std::distance(std::filesystem::directory_iterator(folder.path()), {});
}

TEST_CASE("without a target nothing is written") {
  std::ostringstream out;
  auto output = OutputFile::open(std::nullopt, out);
  REQUIRE(output.has_value());
  CHECK_FALSE(output->takes_standard_output());
  CHECK(output->write(Json{{"a", 1}}).has_value());
  CHECK(out.str().empty());
}

TEST_CASE("a dash is the standard output, and keys keep their order") {
  std::ostringstream out;
  auto output = OutputFile::open("-", out);
  REQUIRE(output.has_value());
  CHECK(output->takes_standard_output());
  CHECK(output->write(Json{{"b", 1}, {"a", {0.1, 2}}}).has_value());
  CHECK(out.str() == "{\"b\":1,\"a\":[0.1,2]}\n");
}

TEST_CASE("a file is written whole, and the one before stands until then") {
  const test::TempFolder folder;
  const std::filesystem::path path = folder.write("result.json", "before");
  std::ostringstream out;
  {
    auto output = OutputFile::open(path.string(), out);
    REQUIRE(output.has_value());
    CHECK_FALSE(output->takes_standard_output());
    CHECK(test::read_file(path) == "before");
    CHECK(output->write(Json{{"a", 1}}).has_value());
  }
  CHECK(test::read_file(path) == "{\"a\":1}\n");
  CHECK(file_count(folder) == 1);
  CHECK(out.str().empty());
}

TEST_CASE("a run that fails leaves the file before, and nothing beside it") {
  const test::TempFolder folder;
  const std::filesystem::path path = folder.write("result.json", "before");
  std::ostringstream out;
  { REQUIRE(OutputFile::open(path.string(), out).has_value()); }
  CHECK(test::read_file(path) == "before");
  CHECK(file_count(folder) == 1);
}

TEST_CASE("a target that cannot be written is found before the work") {
  const test::TempFolder folder;
  std::ostringstream out;
  const auto at_folder = OutputFile::open(folder.path().string(), out);
  REQUIRE_FALSE(at_folder.has_value());
  CHECK(at_folder.error().message ==
        folder.path().string() + ": error: cannot be written: it is a directory");

  const std::string below = (folder.path() / "none" / "result.json").string();
  const auto nowhere = OutputFile::open(below, out);
  REQUIRE_FALSE(nowhere.has_value());
  CHECK(nowhere.error().message == below + ": error: cannot be written: No such file or directory");
}

TEST_CASE("a disk without room is said, not passed over") {
  std::ostringstream out;
  auto output = OutputFile::open("/dev/full", out);
  REQUIRE(output.has_value());
  const auto written = output->write(Json{{"a", 1}});
  REQUIRE_FALSE(written.has_value());
  CHECK(written.error().message == "/dev/full: error: cannot be written: writing it failed");
}

TEST_CASE("a device is written to and stays one") {
  std::ostringstream out;
  auto output = OutputFile::open("/dev/null", out);
  REQUIRE(output.has_value());
  CHECK(output->write(Json{{"a", 1}}).has_value());
  CHECK(std::filesystem::is_character_file("/dev/null"));
}

TEST_CASE("the file that a link points at is replaced, not the link") {
  const test::TempFolder folder;
  const std::filesystem::path path = folder.write("result.json", "before");
  const std::filesystem::path link = folder.path() / "link.json";
  std::filesystem::create_symlink("result.json", link);
  std::ostringstream out;
  auto output = OutputFile::open(link.string(), out);
  REQUIRE(output.has_value());
  CHECK(output->write(Json{{"a", 1}}).has_value());
  CHECK(std::filesystem::is_symlink(link));
  CHECK(test::read_file(path) == "{\"a\":1}\n");
}

TEST_CASE("bytes that are no UTF-8 are replaced") {
  std::ostringstream out;
  auto output = OutputFile::open("-", out);
  REQUIRE(output.has_value());
  CHECK(output->write(Json{{"a", "\xff"}}).has_value());
  CHECK(out.str() == "{\"a\":\"\xEF\xBF\xBD\"}\n");
}

}  // namespace
}  // namespace eplb::cli
