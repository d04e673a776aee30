// Goal: a file is read whole, and one that cannot be is refused with its name and the reason.
// Method: files of each kind in a folder of the test's own.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "eplb/formats/domains.hpp"
#include "eplb/formats/limits.hpp"
#include "eplb/formats/loads.hpp"
#include "eplb/formats/placements.hpp"
#include "temp_folder.hpp"

namespace eplb::formats {
namespace {

std::string refusal(const std::filesystem::path& path) {
  const auto loads = read_loads(path);
  return loads ? "accepted" : loads.error().message;
}

TEST_CASE("loads, domains and placements are read from files") {
  const test::TempFolder folder;
  const auto loads = read_loads(folder.write("loads.json", R"({"logical_count": [[1, 2]]})"));
  REQUIRE(loads.has_value());
  CHECK(loads->windows[0] == RealLoadMatrix{{1, 2}});

  const auto domains =
      read_domain_loads(folder.write("domains.json", R"({"domains": {"c4": [[3]]}})"));
  REQUIRE(domains.has_value());
  CHECK(domains->front().name == "c4");

  const Shape shape{.layer_count = 1, .expert_count = 2, .rank_count = 2};
  const auto placement =
      read_placement(folder.write("p.json", R"({"physical_to_logical_map": [[1, 0]]})"), shape);
  REQUIRE(placement.has_value());
  CHECK(placement->layer(LayerId{0}).occupant(SlotId{0}) == LogicalExpertId{1});
}

TEST_CASE("a message about a file's text starts with the file's path") {
  const test::TempFolder folder;
  const std::filesystem::path path = folder.write("bad.json", "\n[");
  CHECK(refusal(path).starts_with(path.string() + ":2:1: error: must be an object like"));
}

TEST_CASE("a file that is missing, a folder, or below no folder cannot be read") {
  const test::TempFolder folder;
  const std::string missing = (folder.path() / "none.json").string();
  CHECK(refusal(missing) == missing + ": error: cannot be read: No such file or directory");
  CHECK(refusal(folder.path()) ==
        folder.path().string() + ": error: cannot be read: it is a directory");
  const std::string below = (folder.write("file", "x") / "f.json").string();
  CHECK(refusal(below) == below + ": error: cannot be read: Not a directory");
  CHECK(refusal("") == ": error: cannot be read: No such file or directory");
}

TEST_CASE("a file of no bytes is said to be empty") {
  const test::TempFolder folder;
  const std::filesystem::path path = folder.write("empty.json", "");
  CHECK(refusal(path) == path.string() + ":1:1: error: the file is empty");
  CHECK(refusal("/dev/null") == "/dev/null:1:1: error: the file is empty");
}

TEST_CASE("a file over the limit is refused before it is read") {
  const test::TempFolder folder;
  const std::filesystem::path path = folder.write("large.json", "{");
  std::filesystem::resize_file(path, kFileBytesMax + 1);  // Sparse: it takes no space.
  const auto loads = read_loads(path);
  REQUIRE_FALSE(loads.has_value());
  CHECK(loads.error().code == ErrorCode::kResourceExhausted);
  CHECK(loads.error().message ==
        path.string() + ": error: is longer than 1024 MiB, the most that is read");
}

TEST_CASE("loads may come through a pipe") {
  const test::TempFolder folder;
  const std::filesystem::path path = folder.path() / "pipe";
  REQUIRE(::mkfifo(path.c_str(), S_IRUSR | S_IWUSR) == 0);
  std::thread writer([&] { std::ofstream(path) << R"({"logical_count": [[4, 5]]})"; });
  const auto loads = read_loads(path);
  writer.join();
  REQUIRE(loads.has_value());
  CHECK(loads->windows[0] == RealLoadMatrix{{4, 5}});
}

}  // namespace
}  // namespace eplb::formats
