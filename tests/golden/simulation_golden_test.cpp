// Goal: what a shipped scenario simulates changes only when somebody means it to. Method: the quick
// start's report, all but the wall time, against a stored one. EPLB_UPDATE_GOLDEN=1 stores it anew;
// the difference is then for a person to read.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "eplb/cli/run.hpp"

namespace eplb {
namespace {

const std::filesystem::path kSource = EPLB_SOURCE_DIR;

std::string quickstart_report() {
  std::ostringstream out;
  std::ostringstream err;
  const std::string configs = (kSource / "configs").string();
  const std::vector<std::string> arguments{
      "sim", configs + "/quickstart.yaml", "--configs", configs, "--json", "-"};
  const int code = cli::run(arguments, {.out = out, .err = err});
  CHECK(code == 0);
  CHECK(err.str().empty());
  auto json = nlohmann::ordered_json::parse(out.str(), nullptr, false);
  json.erase("wall_s");
  json.erase("version");
  return json.dump(1) + "\n";
}

TEST_CASE("the quick start simulates what it did") {
  const std::filesystem::path file = kSource / "tests/data/golden/quickstart.json";
  const std::string report = quickstart_report();
  const char* update =
      std::getenv("EPLB_UPDATE_GOLDEN");  // NOLINT(concurrency-mt-unsafe): one thread
  if (update != nullptr && std::string(update) == "1") {
    std::ofstream(file) << report;
  }
  std::ifstream stored(file);
  std::ostringstream text;
  text << stored.rdbuf();
  CHECK(report == text.str());
}

}  // namespace
}  // namespace eplb
